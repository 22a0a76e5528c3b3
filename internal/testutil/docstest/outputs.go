package docstest

import (
	"regexp"
	"strings"
)

var (
	// waiting matches the lines with which kubectl and helm say that they still wait. The number of
	// these lines depends on the speed of the cluster.
	waiting = regexp.MustCompile(`(?m)^Waiting for .*\n`)
	// random matches what Kubernetes appends to the names of pods. The characters are those of
	// SafeEncodeString in k8s.io/apimachinery/pkg/util/rand. In the identity of the process that holds
	// a Lease, a UUID follows the name of the pod.
	random = regexp.MustCompile(`(?:-[bcdf-hj-np-tv-xz24-9]{8,10})?-[bcdf-hj-np-tv-xz24-9]{5}(?:_[0-9a-f-]{36})?\b`)
	moment = regexp.MustCompile(`(?m)^LAST DEPLOYED: .*|\b\d+(?:\.\d+)?(?:ms|s|m|h)(?:\d+s)?\b`)
	spaces = regexp.MustCompile(`[ \t]+`)
)

// Stable returns the part of the output of a command that is equal each time the command runs. It
// removes lines about waiting, replaces times and the random parts of names, and leaves one space
// between columns.
func Stable(output string) string {
	output = waiting.ReplaceAllString(output, "")
	output = random.ReplaceAllString(output, "-RANDOM")
	output = moment.ReplaceAllString(output, "TIME")
	return strings.TrimSpace(spaces.ReplaceAllString(output, " "))
}

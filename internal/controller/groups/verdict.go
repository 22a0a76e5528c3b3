package groups

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// Verdict is the result of checking one version of a group.
type Verdict struct {
	Name       string
	UID        types.UID // of the object: a later object may have the same name
	Generation int64
	Accepted   bool
	Reason     string // in CamelCase, as conditions have it
	Message    string
	GPUs       int             // how many it holds
	Shared     []group.HeldGPU // GPUs that other groups hold, too
}

// of reports whether the verdict is about this version of this object.
func (v Verdict) of(object *v1alpha1.GPUGroup) bool {
	return v.UID == object.UID && v.Generation == object.Generation
}

// Reasons of a verdict besides those of group.GPURefusalReason.
const (
	accepted   = "Accepted"
	notChecked = "PermissionsUnknown"
)

// maxSentences limits how many sentences a message has.
const maxSentences = 8

// refused returns the verdict that a group is not accepted.
func (v Verdict) refused(why []*group.GPURefusal) Verdict {
	v.Accepted, v.Reason = false, why[0].Reason.String()
	var sentences []string
	for i, r := range why {
		if i == maxSentences {
			sentences = append(sentences, fmt.Sprintf("and %d more", len(why)-maxSentences))
			break
		}
		sentences = append(sentences, r.Text)
	}
	v.Message = strings.Join(sentences, "; ")
	return v
}

// withGPUs completes the verdict that a group is accepted.
func (v Verdict) withGPUs(held []group.HeldGPU) Verdict {
	v.Accepted, v.Reason, v.GPUs = true, accepted, len(held)
	nodes := map[string]bool{}
	for _, h := range held {
		nodes[h.Node] = true
		if len(h.Others) > 0 {
			v.Shared = append(v.Shared, h)
		}
	}
	v.Message = fmt.Sprintf("%s of %s", count(len(held), "GPU"), count(len(nodes), "node"))
	return v
}

// sharing returns the message of the condition Shared.
func (v Verdict) sharing() string {
	if len(v.Shared) == 0 {
		return "no other group has any of its GPUs"
	}
	var sentences []string
	for i, h := range v.Shared {
		if i == maxSentences {
			sentences = append(sentences, fmt.Sprintf("and %d more", len(v.Shared)-maxSentences))
			break
		}
		sentences = append(sentences, fmt.Sprintf("GPU %s of node %s is also in %s", h.ID, h.Node, strings.Join(h.Others, ", ")))
	}
	return strings.Join(sentences, "; ") + ": the first pod that requests a shared GPU gets it"
}

// count returns "1 node" or "2 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

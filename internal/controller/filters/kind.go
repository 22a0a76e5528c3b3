package filters

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// Kind returns a key for a pod. If two pods have equal keys and request the same amounts of
// resources, the filters refuse both pods on the same nodes and for the same reasons. The key is ""
// for a pod that names its nodes in its node affinity, that uses volumes or devices, or that has
// already run.
func (c *Cluster) Kind(pod *Pod) string {
	if pod.rules == "" || pod.claim || pod.started {
		return ""
	}
	object := pod.info.Pod
	var kind strings.Builder
	fmt.Fprintf(&kind, "%s %s %s", object.Namespace, pod.rules, ports(object))
	for t := range pod.terms() {
		kind.WriteString(text(*t))
	}
	fmt.Fprint(&kind, len(pod.info.RequiredAffinityTerms), pod.alone)
	for _, selector := range pod.spread {
		fmt.Fprint(&kind, selector.Matches(labels.Set(object.Labels)))
	}
	spread, err := json.Marshal(object.Spec.TopologySpreadConstraints)
	if err != nil {
		return ""
	}
	kind.Write(spread)
	kind.WriteString(c.terms.selecting(object))
	return kind.String()
}

// ports returns the host ports of a pod as a text.
func ports(pod *v1.Pod) string {
	var all []string
	for _, p := range util.GetHostPorts(pod) {
		all = append(all, fmt.Sprint(p.HostIP, p.Protocol, p.HostPort))
	}
	return strings.Join(all, ",")
}

package filters

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Pod is what the filters know of a pod that is to be placed: the Foreign of a
// sched.Pod. It is immutable, and so has to be the v1.Pod that it is made from.
type Pod struct {
	info    *framework.PodInfo
	wide    bool // its filters look at all nodes
	claim   bool // it has volumes or devices that are given away once
	started bool // its status has a say in what it requests
}

// NewPod returns what the filters know of a pod, or says which of its terms
// cannot be read.
func NewPod(pod *v1.Pod) (*Pod, error) {
	info, err := podInfo(pod)
	if err != nil {
		return nil, err
	}
	return &Pod{info: info, wide: wide(info), claim: claims(pod), started: started(&pod.Status)}, nil
}

// NewBoundPod returns what the filters know of a pod that is bound, for the Foreign of its
// assignment in place of before, nil for none. The error says which of its terms cannot
// be read: they do not count.
func NewBoundPod(pod *v1.Pod, before *nodestate.Assignment) (*Pod, error) {
	if decided := podOf(before); decided != nil && !before.Bound && before.Node == pod.Spec.NodeName && sameSpec(decided.Pod, pod) {
		info := *decided
		info.Pod = pod
		return &Pod{info: &info}, nil
	}
	info, err := podInfo(pod)
	return &Pod{info: info}, err
}

// Reader reads objects for a mirror, which does not know the filters' types.
type Reader struct{}

// ReadPod is NewPod, with Across.
func (Reader) ReadPod(pod *v1.Pod) (known any, across bool, err error) {
	p, err := NewPod(pod)
	if err != nil {
		return nil, false, err
	}
	return p, p.Across(), nil
}

// ReadBoundPod is NewBoundPod.
func (Reader) ReadBoundPod(pod *v1.Pod, before *nodestate.Assignment) (any, error) {
	return NewBoundPod(pod, before)
}

// SameNode is the function SameNode.
func (Reader) SameNode(a, b *v1.Node) bool { return SameNode(a, b) }

// sameSpec reports whether what was read of a pod's spec before it was bound stands, for
// binding changes no more of it than the node's name, and that alone is not counted as a
// change.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go, updatePodGeneration.
func sameSpec(decided, bound *v1.Pod) bool {
	return bound.Generation != 0 && decided.Generation == bound.Generation && !rare(bound) && !rare(decided)
}

// podInfo returns what upstream keeps of a pod, with what can be read of it.
func podInfo(pod *v1.Pod) (*framework.PodInfo, error) {
	info, err := framework.NewPodInfo(pod)
	info.CalculateResource() // it remembers the result, which is no longer safe later
	if err != nil {
		return info, fmt.Errorf("read affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return info, nil
}

// Across reports whether the fit of a node depends on other nodes too, by what
// the pod itself says: sched.Pod.Across.
func (p *Pod) Across() bool { return p.wide || p.claim }

// wide reports whether PreFilter of some plugin reads all nodes: for required
// (anti-)affinity to pods, and for spread that is not only preferred.
func wide(info *framework.PodInfo) bool {
	if len(info.RequiredAffinityTerms) > 0 || len(info.RequiredAntiAffinityTerms) > 0 {
		return true
	}
	for _, c := range info.Pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			return true
		}
	}
	return false
}

// claims reports whether the pod has claims, or volumes that count as claims.
// Whether a claim is bound may change at any time, so all are treated alike.
func claims(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	translator := csitranslation.New()
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil || translator.IsInlineMigratable(v) {
			return true
		}
	}
	return false
}

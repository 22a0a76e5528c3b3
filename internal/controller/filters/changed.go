package filters

import (
	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// Changed returns a copy of a pod for which the filters see a changed spec. The function change
// changes a copy of the spec in place, and returns whether it changed anything. The requests in the
// sched.Pod stay as they are, although the spec may have other requests. Changed returns nil if the
// function change returns false.
func (r Reader) Changed(pod *sched.Pod, change func(*v1.PodSpec) bool) (*sched.Pod, error) {
	of, ok := pod.Foreign.(*Pod)
	if !ok {
		return nil, nil
	}
	spec := of.info.Pod.DeepCopy()
	if !change(&spec.Spec) {
		return nil, nil
	}
	changed := *pod
	changed.Admits, changed.Lacks, changed.Topics, changed.Across = nil, nil, nil, false
	return &changed, r.ReadPod(spec, &changed)
}

package filters

import (
	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// Changed returns a pod with another spec for the filters. The requests stay as they are. It
// returns nil if the change has no effect.
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

package filters

import (
	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// Changed returns a copy of a pod with a changed spec. The filters handle the copy as if the pod
// had this spec. The function given as `change` gets a copy of the pod's spec, changes this spec in
// place, and returns whether it changed anything. If `change` returns false, Changed returns nil.
// The returned pod keeps the field Requests of the given pod, even if the changed spec has other
// requests.
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

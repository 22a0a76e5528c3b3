package filter

import (
	"testing"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// TestExcess checks that a pod does not fit a node if a container requests more
// exclusive CPUs than the node has, even if the number is huge. The pod's field Requests
// does not include these CPUs, as if another program had computed Requests wrongly. So
// only the check of exclusive CPUs can refuse the pod.
func TestExcess(t *testing.T) {
	node := &sched.Node{Name: "n", NUMA: []sched.NUMANode{{ID: 0, CPUs: 8, FreeCPUs: 8}, {ID: 1, CPUs: 8, FreeCPUs: 8}}, CoreWidth: 2}
	for _, policy := range []podspec.Policy{podspec.Random, podspec.Spread, podspec.Single} {
		for _, cpus := range []int{17, 1 << 31, 1 << 50} {
			pod := &sched.Pod{UID: "a", CPUPolicy: policy, Exclusive: []podspec.Container{
				{Name: "init", Kind: podspec.Init, CPUs: cpus}, {Name: "sidecar", Kind: podspec.Sidecar, CPUs: 1}, {Name: "main", CPUs: cpus}, {Name: "other", CPUs: cpus},
			}}
			if why := Check(pod, node); !why.Refuses() {
				t.Errorf("%s, %d CPUs: Check accepts it", policy, cpus)
			}
			if at, why := Place(pod, node); !why.Refuses() {
				t.Errorf("%s, %d CPUs: placed at %+v", policy, cpus, at)
			}
		}
	}
}

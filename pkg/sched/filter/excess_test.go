package filter

import (
	"testing"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// TestExcess checks that a container that requests more exclusive CPUs than a node has
// does not fit the node, even if their number is huge. The pod's Requests do not include
// these CPUs, as if another program had computed them wrongly.
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

package nodestate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestCouldHold checks that CouldHold compares a pod with what nodes would have free without other
// pods, while nodes are added, changed and removed. It also checks that a node without NUMA nodes
// and GPUs could hold a pod with exclusive CPUs or with a GPU, because the node's record may get
// them later. The GPU type in the test is that of a MIG slice. It has a dot, as the names of many
// resources do.
func TestCouldHold(t *testing.T) {
	s := nodestatetest.New(t, "cpu,memory,numa-total,gpus,gpus:H200-MIG-1g.18gb,nvidia.com/gpu", filter.Profile{})
	node := func(name string, cpus, memory int64) *sched.Node {
		return &sched.Node{Name: name, Allocatable: sched.Amounts{CPU: sched.MilliCPU(cpus), Memory: sched.Bytes(memory)}}
	}
	small := &sched.Pod{UID: "small", Requests: sched.Amounts{CPU: 4, Memory: 1}}
	both := &sched.Pod{UID: "both", Requests: sched.Amounts{CPU: 4, Memory: 4}}
	exclusive := &sched.Pod{UID: "exclusive", Requests: sched.Amounts{CPU: 4}, CPUPolicy: podspec.Single, Exclusive: []podspec.Container{{CPUs: 4}}}
	gpu := &sched.Pod{UID: "gpu", Requests: sched.Amounts{Extended: sched.ExtendedOf(map[string]int64{"nvidia.com/gpu": 1})}}
	slice := &sched.Pod{UID: "slice", Requests: sched.Amounts{CPU: 4}, GPUs: sched.GPURequest{Count: 1, Milli: sched.WholeGPU, Types: []string{"H200-MIG-1g.18gb"}}}
	for _, c := range []struct {
		event string
		do    func()
		want  []string
	}{
		{"there is no node", func() {}, nil},
		{"nodes come", func() { s.SetNode(node("wide", 4, 2)); s.SetNode(node("high", 2, 4)) }, []string{"small", "exclusive", "slice"}},
		{"a pod takes it all", func() {
			s.Adopt(nodestate.Assignment{UID: "x", Node: "wide", Holding: sched.Holding{Amounts: sched.Amounts{CPU: 4, Memory: 2}}})
		}, []string{"small", "exclusive", "slice"}},
		{"a node grows", func() { s.SetNode(node("high", 4, 4)) }, []string{"small", "both", "exclusive", "slice"}},
		{"it gets a GPU", func() {
			with := node("high", 4, 4)
			with.Allocatable.Extended = sched.ExtendedOf(map[string]int64{"nvidia.com/gpu": 1})
			s.SetNode(with)
		}, []string{"small", "both", "exclusive", "gpu", "slice"}},
		{"a node leaves", func() { s.RemoveNode("high") }, []string{"small", "exclusive", "slice"}},
		{"all have left", func() { s.RemoveNode("wide"); s.RemoveNode("wide") }, nil},
	} {
		c.do()
		var got []string
		for _, pod := range []*sched.Pod{small, both, exclusive, gpu, slice} {
			if s.CouldHold(pod) {
				got = append(got, pod.UID)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.event, diff)
		}
	}
}

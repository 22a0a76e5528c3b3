package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// reserver is a filter that accepts every node. The field `reserved` counts the calls of
// Reserve that were not undone by Unreserve. If the field `refuses` is true, Reserve
// refuses every decision.
type reserver struct {
	refuses  bool
	reserved int
}

func (r *reserver) Begin(*sched.Pod) ([]string, sched.Reason) { return nil, sched.Reason{} }
func (r *reserver) Check(*sched.Node) sched.Reason            { return sched.Reason{} }

func (r *reserver) Reserve(sched.Decision, *sched.Node) sched.Reason {
	r.reserved++
	if r.refuses {
		return sched.Reason{Code: sched.Other}
	}
	return sched.Reason{}
}

func (r *reserver) Unreserve(sched.Decision) { r.reserved-- }

// TestReserve checks for which pods the committer calls Reserve, and that the committer
// does not place a pod for which Reserve refuses the decision.
func TestReserve(t *testing.T) {
	wait := func(*sched.Pod) sched.Reason { return sched.Reason{} }
	for name, tc := range map[string]struct {
		pod    sched.Pod
		before func(*nodestate.State) // before the commit
		asked  bool
	}{
		"plain":                     {},
		"its node has changed":      {before: func(s *nodestate.State) { s.Adopt(nodestate.Assignment{UID: "other", Node: "node"}) }},
		"may have to wait":          {pod: sched.Pod{Wait: wait}, asked: true},
		"depends on other nodes":    {pod: sched.Pod{Across: true}, asked: true},
		"others keep it away since": {before: (*nodestate.State).Narrow, asked: true},
	} {
		for _, refuses := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", refused"}[refuses], func(t *testing.T) {
				state, r := oneNode(t, 1000), &reserver{refuses: refuses}
				bound := 0
				propose := pipeline.NewProposer(state.View, pipeline.ProposerOptions{}).Propose
				committer := pipeline.NewCommitter(state, r, pipeline.Effects{
					Bind: func(sched.Decision) { bound++ }, Requeue: func(*sched.Pod, sched.Reason) {},
					MarkUnschedulable: func(*sched.Pod, uint64) {},
				})
				pod := tc.pod
				pod.UID, pod.Requests = "pod", sched.Amounts{CPU: 500}
				list := propose(&pod)
				if tc.before != nil {
					tc.before(state)
				}
				committer.Commit(list)
				want := []int{1, 0}
				if tc.asked {
					want = []int{map[bool]int{false: 1}[refuses], 1}
				}
				if diff := cmp.Diff(want, []int{bound, r.reserved}); diff != "" {
					t.Errorf("bound, and asked (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// limited is a reserver for pods that each need one of a limited number of devices.
type limited struct {
	reserver
	devices int
}

func (r *limited) Reserve(d sched.Decision, node *sched.Node) sched.Reason {
	if r.reserved == r.devices {
		return sched.Reason{Code: sched.Other, Detail: "no device is free"}
	}
	return r.reserver.Reserve(d, node)
}

// TestGangWithTooFewDevices checks what happens to a gang of six pods, of which four must start
// together, if each pod needs a device. The plan of a gang does not take devices into account.
// If the gang is queued again, the queue must be told why.
func TestGangWithTooFewDevices(t *testing.T) {
	type result struct {
		Bound, Requeued int
		Why             string
	}
	const why = "no device is free"
	for devices, want := range map[int]result{
		6: {Bound: 6},
		4: {Bound: 4, Requeued: 1, Why: why},
		3: {Requeued: 1, Why: why},
	} {
		state, r, got := oneNode(t, 8000), &limited{devices: devices}, result{}
		committer := pipeline.NewCommitter(state, r, pipeline.Effects{
			Bind: func(sched.Decision) { got.Bound++ }, Requeue: func(_ *sched.Pod, why sched.Reason) { got.Requeued, got.Why = got.Requeued+1, why.Detail },
			MarkUnschedulable: func(*sched.Pod, uint64) { t.Errorf("%d devices: the gang is unschedulable", devices) },
		})
		gang := &sched.Gang{ID: "gang", Need: 4}
		for i := range 6 {
			gang.Members = append(gang.Members, &sched.Pod{UID: fmt.Sprint("pod-", i), Requests: sched.Amounts{CPU: 1000, Pods: 1}, Across: true, Reserves: true})
		}
		committer.Commit(pipeline.NewProposer(state.View, pipeline.ProposerOptions{}).Propose(&sched.Pod{UID: gang.ID, Gang: gang, Across: true}))
		if diff := cmp.Diff(want, got); diff != "" || r.reserved != got.Bound {
			t.Errorf("%d devices: %d reserved (-want +got):\n%s", devices, r.reserved, diff)
		}
	}
}

// elsewhere is a reserver that refuses the node "a" for the pod "pod-0".
type elsewhere struct{ reserver }

func (r *elsewhere) Reserve(d sched.Decision, node *sched.Node) sched.Reason {
	if d.Pod.UID == "pod-0" && d.At.Node == "a" {
		return sched.Reason{Code: sched.Other, Detail: "its volume is elsewhere"}
	}
	return r.reserver.Reserve(d, node)
}

// TestGangPodMovesElsewhere checks a gang of two pods that are planned on one node. Another pod takes
// the GPUs of the second one in the meantime. The first one gets another node, because of its volume.
// So the node has changed once, and not by a pod of the gang: the second pod must get other GPUs.
func TestGangPodMovesElsewhere(t *testing.T) {
	state := nodestatetest.New(t, "gpus", filter.Profile{})
	node := func(name string, gpus int) {
		n := &sched.Node{Name: name, Allocatable: sched.Amounts{Pods: 110}}
		for i := range gpus {
			n.GPUs = append(n.GPUs, sched.GPU{ID: fmt.Sprint(name, i), Free: sched.WholeGPU})
		}
		state.SetNode(n)
	}
	two := func(uid string) *sched.Pod {
		return &sched.Pod{UID: uid, Requests: sched.Amounts{Pods: 1}, GPUs: sched.GPURequest{Count: 2, Milli: sched.WholeGPU}, Across: true, Reserves: true}
	}
	var bound []sched.Decision
	r := &elsewhere{}
	propose := pipeline.NewProposer(state.View, pipeline.ProposerOptions{}).Propose
	committer := pipeline.NewCommitter(state, r, pipeline.Effects{
		Bind: func(d sched.Decision) { bound = append(bound, d) }, Requeue: func(*sched.Pod, sched.Reason) {}, MarkUnschedulable: func(*sched.Pod, uint64) {}, Widen: propose,
	})
	node("a", 6)
	gang := &sched.Gang{ID: "gang", Need: 2, Members: []*sched.Pod{two("pod-0"), two("pod-1")}}
	list := propose(&sched.Pod{UID: gang.ID, Gang: gang, Across: true, Reserves: true})
	other := two("other")
	state.Place(other, list.Planned[0].Node, list.Planned[1].At, state.NarrowSeq())
	node("c", 2)
	committer.Commit(list)
	holders := map[string]string{}
	for _, a := range append(state.Assignments("a"), state.Assignments("c")...) {
		for _, gpu := range a.GPUs {
			if holder := holders[gpu.ID]; holder != "" {
				t.Errorf("GPU %s is assigned to %s and %s", gpu.ID, holder, a.UID)
			}
			holders[gpu.ID] = a.UID
		}
	}
	if len(bound) != 2 {
		t.Errorf("bound %v, want both pods of the gang", bound)
	}
}

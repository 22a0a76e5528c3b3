package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// brittle is a filter that panics for one pod, in one method, a number of times.
type brittle struct {
	pod, in string
	times   *int
	now     *sched.Pod
}

func (b *brittle) fall(in string, pod *sched.Pod) {
	if b.in == in && pod.UID == b.pod && *b.times > 0 {
		*b.times--
		panic("the filter is broken")
	}
}

func (b *brittle) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	b.now = pod
	b.fall("Begin", pod)
	return nil, sched.Reason{}
}

func (b *brittle) Check(*sched.Node) sched.Reason {
	b.fall("Check", b.now)
	return sched.Reason{}
}

func (b *brittle) Reserve(d sched.Decision, _ *sched.Node) sched.Reason {
	b.fall("Reserve", d.Pod)
	return sched.Reason{}
}

func (b *brittle) Unreserve(sched.Decision) {}

// TestPanic has a pod, or one pod of a gang, that makes a filter panic in either tier. It checks
// that other pods are placed as usual, and that the panic is reported and leaves no trace. It also
// checks that the pod is placed when the filter works again.
func TestPanic(t *testing.T) {
	for _, pod := range []string{"p1", "g-1"} {
		for _, where := range []string{"first Begin", "first Check", "second Begin", "second Reserve"} {
			t.Run(where+" of "+pod, func(t *testing.T) { testPanic(t, pod, where) })
		}
	}
}

func testPanic(t *testing.T, bad, where string) {
	state := nodestatetest.New(t, "cpu", filter.Profile{})
	state.SetNode(&sched.Node{Name: "node", Allocatable: sched.Amounts{CPU: 6000, Pods: 10}})
	var pods []*sched.Pod
	for i := range 3 {
		pods = append(pods, &sched.Pod{UID: fmt.Sprint("p", i), Requests: sched.Amounts{CPU: 1000, Pods: 1}, Across: true})
	}
	gang := &sched.Gang{ID: "g", Need: 3}
	for i := range 3 {
		gang.Members = append(gang.Members, &sched.Pod{UID: fmt.Sprint("g-", i), Requests: sched.Amounts{CPU: 1000, Pods: 1}, Across: true})
	}
	pods = append(pods, &sched.Pod{UID: "g", Gang: gang, Across: true})
	times, none := 3, 0
	first, second := &brittle{times: &none}, &brittle{times: &none}
	var in string
	for name, f := range map[string]*brittle{"first": first, "second": second} {
		if n, _ := fmt.Sscanf(where, name+" %s", &in); n == 1 {
			*f = brittle{pod: bad, in: in, times: &times}
		}
	}
	queue, bound, panics := schedtest.NewQueue(pods, state.FreedSeq), []string{}, 0
	var mu sync.Mutex
	run := pipeline.New(state, queue, pipeline.Config{
		Proposers: []pipeline.ProposerOptions{{Filter: first}}, Filter: second,
		Bind: func(_ context.Context, d sched.Decision, _ func()) error {
			mu.Lock()
			defer mu.Unlock()
			if bound = append(bound, d.Pod.UID); d.Pod.UID != "g-0" && d.Pod.UID != "g-1" {
				queue.Done()
			}
			return nil
		},
		Panicked: func(pod *sched.Pod, _ any) {
			panics++
			if pod.UID[:1] != bad[:1] {
				t.Errorf("the panic is pod %s's, want %s's", pod.UID, bad)
			}
		},
	})
	if err := run.Run(t.Context()); !errors.Is(err, schedtest.ErrDrained) {
		t.Fatal(err)
	}
	slices.Sort(bound)
	if diff := cmp.Diff([]string{"g-0", "g-1", "g-2", "p0", "p1", "p2"}, bound); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
	checkFree(t, state)
	if panics != 3 {
		t.Errorf("%d panics are reported, want 3", panics)
	}
}

func checkFree(t *testing.T, state *nodestate.State) {
	t.Helper()
	if free := state.Record("node").Free; free.CPU != 0 || free.Pods != 4 {
		t.Errorf("free %+v, want no CPU and room for 4 pods", free)
	}
}

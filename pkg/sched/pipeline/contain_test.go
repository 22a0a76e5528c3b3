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

// brittle is a filter of which one method panics for one pod. The field `pod` has the UID of this
// pod, `in` the name of the method, and `times` how many more times the method panics.
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

func (b *brittle) Reserve(decision sched.Decision, _ *sched.Node) sched.Reason {
	b.fall("Reserve", decision.Pod)
	return sched.Reason{}
}

func (b *brittle) Unreserve(sched.Decision) {}

// TestPanic checks what happens if a filter panics for one pod, or for one pod of a gang, in a
// proposer or in the committer. Other pods must be placed as usual. The panic must be reported, and
// no placement of the attempt that panicked must remain. When the filter no longer panics, the pod
// must be placed.
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
		Bind: func(_ context.Context, decision sched.Decision, _ func()) error {
			mu.Lock()
			defer mu.Unlock()
			if bound = append(bound, decision.Pod.UID); decision.Pod.UID != "g-0" && decision.Pod.UID != "g-1" {
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

// TestPanicInBinder checks what happens if Bind panics for a pod. The pod must keep its resources
// until Resolve says that it is not bound, and other pods must be bound meanwhile.
func TestPanicInBinder(t *testing.T) {
	for name, tc := range map[string]struct {
		settled func() error
		undoing bool // Unreserve panics, too
		binds   []string
		panics  int
	}{
		"not bound":                     {settled: func() error { return errors.New("not bound") }, binds: []string{"p0", "p1", "p1", "p2"}, panics: 1},
		"not bound, and undoing panics": {settled: func() error { return errors.New("not bound") }, undoing: true, binds: []string{"p0", "p1", "p1", "p2"}, panics: 2},
		"bound":                         {settled: func() error { return nil }, binds: []string{"p0", "p1", "p2"}, panics: 1},
		"unknown: settling panics":      {settled: func() error { panic("again") }, binds: []string{"p0", "p1", "p2"}, panics: 2},
		"unknown: Resolve is not set":   {binds: []string{"p0", "p1", "p2"}, panics: 1},
	} {
		t.Run(name, func(t *testing.T) {
			state := nodestatetest.New(t, "cpu", filter.Profile{})
			state.SetNode(&sched.Node{Name: "node", Allocatable: sched.Amounts{CPU: 3000, Pods: 7}})
			var pods []*sched.Pod
			for i := range 3 {
				pods = append(pods, &sched.Pod{UID: fmt.Sprint("p", i), Requests: sched.Amounts{CPU: 1000, Pods: 1}})
			}
			queue, binds, panics := schedtest.NewQueue(pods, state.FreedSeq), []string{}, 0
			var mu sync.Mutex
			others := make(chan struct{}) // closed when the other pods are bound
			done := func(uid string) int {
				mu.Lock()
				defer mu.Unlock()
				binds = append(binds, uid)
				if slices.Contains(binds, "p0") && slices.Contains(binds, "p2") && uid != "p1" {
					close(others)
				}
				n := 0
				for _, one := range binds {
					if one == uid {
						n++
					}
				}
				return n
			}
			config := pipeline.Config{
				Proposers: []pipeline.ProposerOptions{{}}, Filter: &fallible{falls: tc.undoing},
				Bind: func(_ context.Context, decision sched.Decision, _ func()) error {
					if n := done(decision.Pod.UID); decision.Pod.UID == "p1" && n == 1 {
						panic("the binder is broken")
					}
					queue.Done()
					return nil
				},
				Panicked: func(*sched.Pod, any) { mu.Lock(); defer mu.Unlock(); panics++ },
			}
			if tc.settled != nil {
				config.Resolve = func(context.Context, sched.Decision) error {
					<-others // waits until another goroutine has bound the other pods
					if !state.Holds("p1") {
						t.Error("the pod has lost its resources before the outcome is known")
					}
					defer func() {
						if slices.Contains(tc.binds[2:3], "p2") {
							queue.Done() // the pod is not retried
						}
					}()
					return tc.settled()
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if tc.settled == nil {
				go func() { <-others; queue.Done() }()
			}
			if err := pipeline.New(state, queue, config).Run(ctx); !errors.Is(err, schedtest.ErrDrained) {
				t.Fatal(err)
			}
			slices.Sort(binds)
			if diff := cmp.Diff(tc.binds, binds); diff != "" {
				t.Errorf("binds (-want +got):\n%s", diff)
			}
			if panics != tc.panics {
				t.Errorf("%d panics are reported, want %d", panics, tc.panics)
			}
			if free := state.Record("node").Free; free.CPU != 0 {
				t.Errorf("free %+v, want no CPU", free)
			}
		})
	}
}

// fallible is a filter that accepts every node. If its field is true, its method Unreserve panics.
type fallible struct{ falls bool }

func (*fallible) Begin(*sched.Pod) ([]string, sched.Reason)        { return nil, sched.Reason{} }
func (*fallible) Check(*sched.Node) sched.Reason                   { return sched.Reason{} }
func (*fallible) Reserve(sched.Decision, *sched.Node) sched.Reason { return sched.Reason{} }
func (f *fallible) Unreserve(sched.Decision) {
	if f.falls {
		panic("undoing is broken")
	}
}

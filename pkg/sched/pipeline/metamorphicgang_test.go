package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestGangs schedules four gangs and, at the same time, small pods, with 1 to 16 proposers. Each
// gang needs more than half of the cluster. The test checks that either all pods of a gang are
// placed or none, and that at most one gang starts. The small pods, and the pods of the started
// gang if there is one, must together fill the cluster.
func TestGangs(t *testing.T) {
	for _, proposers := range []int{1, 3, 16} {
		t.Run(fmt.Sprintf("proposers=%d", proposers), func(t *testing.T) {
			for range 20 {
				placed, small := runGangs(t, proposers)
				started := 0
				for gang, n := range placed {
					if n != 6 {
						t.Errorf("%s has %d of 6 pods placed", gang, n)
					}
					started++
				}
				if started > 1 || started*6+small != 10 {
					t.Errorf("%d gangs of 6 and %d small pods have a place on 10 nodes", started, small)
				}
			}
		})
	}
}

// gangQueue is a queue that does not retry a gang that did not fit. In this test no pod ends. So
// resources are released only when the committer places some pods of a gang and then undoes these
// placements. Such a release adds nothing to what was free before, so a retry is useless. If the
// queue retried gangs after each release, two gangs could make each other retry forever.
type gangQueue struct{ *schedtest.Queue }

func (q gangQueue) MarkUnschedulable(pod *sched.Pod, freedSeq uint64) {
	if pod.Gang != nil {
		freedSeq = math.MaxUint64
	}
	q.Queue.MarkUnschedulable(pod, freedSeq)
}

// runGangs schedules four gangs of six pods and twenty small pods on ten nodes. Each of these pods
// needs a node of its own.
func runGangs(t *testing.T, proposers int) (gangs map[string]int, small int) {
	t.Helper()
	state := nodestatetest.New(t, "cpu", filter.Profile{})
	for i := range 10 {
		state.SetNode(&sched.Node{Name: fmt.Sprint("node-", i), Allocatable: sched.Amounts{CPU: 4000, Pods: 9}})
	}
	pods := gangPods()
	queue := gangQueue{schedtest.NewQueue(pods, func() uint64 { return state.View().FreedSeq })}
	var mu sync.Mutex
	gangs = map[string]int{}
	config := pipeline.Config{Bind: func(_ context.Context, decision sched.Decision, _ func()) error {
		mu.Lock()
		defer mu.Unlock()
		if decision.Pod.Gang == nil {
			small++
			queue.Done()
			return nil
		}
		if gangs[decision.Pod.Gang.ID]++; gangs[decision.Pod.Gang.ID] == 6 {
			queue.Done()
		}
		return nil
	}, Proposers: make([]pipeline.ProposerOptions, proposers)}
	if err := pipeline.New(state, queue, config).Run(t.Context()); !errors.Is(err, schedtest.ErrDrained) {
		t.Fatalf("run cycle: %v", err)
	}
	return gangs, small
}

// gangPods returns a list in which the first pods of four gangs are mixed with twenty small pods.
func gangPods() []*sched.Pod {
	var pods []*sched.Pod
	for i := range 24 {
		if i%6 != 1 {
			pods = append(pods, fourCores(fmt.Sprint("small-", i), nil))
			continue
		}
		gang := &sched.Gang{ID: fmt.Sprint("gang-", i/6), Need: 6}
		for m := range 6 {
			gang.Members = append(gang.Members, fourCores(fmt.Sprintf("%s-%d", gang.ID, m), gang))
		}
		pods = append(pods, gang.Members[0])
	}
	return pods
}

func fourCores(name string, gang *sched.Gang) *sched.Pod {
	return &sched.Pod{UID: name, Name: name, Gang: gang, Requests: sched.Amounts{CPU: 4000, Pods: 1}}
}

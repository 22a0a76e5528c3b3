package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestDetached checks calls of Bind that take a long time, because they wait for volumes. Before
// they wait, they call `detach`. They must delay no other pod. Run must not return before they have
// returned.
func TestDetached(t *testing.T) {
	for _, slow := range []int{3, 2000} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testDetached(t, slow) }) })
	}
}

func testDetached(t *testing.T, slow int) {
	tr := trace{nodes: 2 + slow/400, node: schedtest.Ample}
	c := tr.cluster(t, rand.New(rand.NewPCG(1, 6)))
	var pods []*sched.Pod
	for i := range slow + 2 {
		name := fmt.Sprintf("slow-%d", i)
		if i >= slow {
			name = fmt.Sprintf("quick-%d", i)
		}
		pods = append(pods, &sched.Pod{UID: name, Name: name, Requests: sched.Amounts{Pods: 1}})
	}
	queue := schedtest.NewQueue(pods, func() uint64 { return c.View().FreedSeq })
	volumes, quick, bound := make(chan struct{}), atomic.Int32{}, atomic.Int32{}
	config := pipeline.Config{Proposers: []pipeline.ProposerOptions{{}}, Binders: 1, Bind: func(_ context.Context, decision sched.Decision, detach func()) error {
		if decision.Pod.Name[0] == 's' {
			detach()
			detach() // has no effect, because detach was called before
			<-volumes
		} else if quick.Add(1) == 2 {
			close(volumes) // the slow pods get their volumes after all quick pods were passed to Bind
		}
		bound.Add(1)
		queue.Done()
		return nil
	}}
	if err := pipeline.New(c, queue, config).Run(t.Context()); !errors.Is(err, schedtest.ErrDrained) {
		t.Fatalf("run cycle: %v", err)
	}
	if n := bound.Load(); int(n) != len(pods) {
		t.Errorf("%d of %d pods are bound", n, len(pods))
	}
}

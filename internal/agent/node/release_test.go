package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestRunReleasesStaticPods checks that the CPUs of an ended static pod are released, even if the
// agent gets no event at the pod's end. The agent gets no event if the pod has no mirror pod and
// the container runtime has restarted.
func TestRunReleasesStaticPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, &scenario.Answer{})
		s.play("agent start", "pod u static policy=single main:2", "late u", "run u")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.node.Run(ctx) }()
		synctest.Wait()
		s.play("stop u lost", "remove u lost", "collect u")
		if held := s.node.View().Held; len(held) != 1 {
			t.Errorf("%v before the next check, want what the container had", held)
		}
		time.Sleep(2 * staticSweepInterval)
		synctest.Wait()
		if held := s.node.View().Held; len(held) > 0 {
			t.Errorf("%v after %v, want nothing", held, 2*staticSweepInterval)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

package node

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset/pool"
)

// TestRun checks that Run gives CPUs back if no event tells it to.
func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		before, during []string // script commands before Run begins, and while it runs
		cpus           int      // number of exclusive CPUs that pods hold at the end
	}{
		"the runtime fails to apply a resize, and the user gives it up": {
			before: []string{"agent start", "pod a policy=single main:2", "run a"},
			during: []string{"resize a/main 3 fails"},
			cpus:   2,
		},
		"a pod was deleted before the agent started, and its processes end later": {
			before: []string{"agent start", "pod a policy=single main:2", "run a", "agent kill", "delete a", "informer away", "agent start"},
			during: []string{"informer synced", "stop a lost", "remove a lost"},
			cpus:   0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, &scenario.Answer{})
				s.play(tc.before...)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- s.node.Run(ctx) }()
				synctest.Wait()
				for _, command := range tc.during {
					s.play(command)
					synctest.Wait()
				}
				s.now += 2 * confirmation
				s.node.Synced() // takes the lock of the node, so that for the race detector, the writes above come before the reads of Run
				time.Sleep(time.Minute)
				synctest.Wait()
				cpus := 0
				for _, h := range s.node.View().Held {
					cpus += h.CPUs.Len()
				}
				if cpus != tc.cpus {
					t.Errorf("pods hold %d CPUs, want %d", cpus, tc.cpus)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestSweepBeforeSynchronize checks that CPUs that a container gave back in a resize are not shared
// before the container runtime has listed its containers: the container may still run on them.
func TestSweepBeforeSynchronize(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod a policy=single main:2", "run a", "resize a/main 1", "agent kill")
	if err := s.launchAgent(); err != nil {
		t.Fatal(err)
	}
	shared := s.node.View().Shared
	for range 3 {
		s.node.Sweep(t.Context())
		s.now += grace
	}
	if got := s.node.View().Shared; !got.Equal(shared) {
		t.Errorf("CPUs %s are shared, want %s", got, shared)
	}
}

// TestReserveTwice checks that undoing the second of two equal reservations does not drop the grant
// of the first one.
func TestReserveTwice(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod a policy=single main:2", "run a")
	book := s.node.mu.book
	undo, err := book.reserve(book.held["a"], pool.Pod{UID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if undo(); !book.covers("a", "main") {
		t.Error("the pod has lost its grant")
	}
}

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

// TestReleasesTogether checks that the agent writes the checkpoint and the cpusets of shared containers
// only once for all pods that have ended, however many there are.
func TestReleasesTogether(t *testing.T) {
	type writes struct{ checkpoints, cpusets int }
	for name, command := range map[string]string{"a sweep": "sweep", "the runtime lists its containers": "resynchronize"} {
		t.Run(name, func(t *testing.T) {
			got := map[int]writes{}
			for _, pods := range []int{1, 5} {
				s := newScript(t, &scenario.Answer{})
				s.play("agent start", "pod x main:500m", "run x")
				for i := range pods {
					uid := fmt.Sprint("a", i)
					s.play("pod "+uid+" policy=single main:1", "run "+uid)
				}
				for i := range pods {
					uid := fmt.Sprint("a", i)
					s.play("phase "+uid+" Succeeded", "stop "+uid+" lost")
				}
				saves := s.saves
				clear(s.wrote)
				s.play(command)
				got[pods] = writes{s.saves - saves, s.wrote[Grow] + s.wrote[Assert]}
				if held := s.node.View().Held; len(held) > 0 {
					t.Errorf("held: %v, want nothing", held)
				}
			}
			if diff := cmp.Diff(got[1], got[5], cmp.AllowUnexported(writes{})); diff != "" {
				t.Errorf("writes with 1 ended pod (-) and with 5 (+):\n%s", diff)
			}
			if got[1].checkpoints != 1 {
				t.Errorf("%d checkpoints, want 1", got[1].checkpoints)
			}
		})
	}
}

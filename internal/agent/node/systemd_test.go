package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// systemd is a fake of systemd. It keeps the cgroup values that the agent has sent, because a
// daemon-reload of systemd reverts all other values.
type systemd struct {
	acknowledged, pending map[string]string // values by cgroup; the key of a quota is the cgroup and the word "quota"
	calls                 int               // how often the agent called Persist
	rounds                int               // how often it had to wait then, because changes were pending
	down                  bool              // systemd does not answer
	slow                  bool              // systemd answers only after the deadline of every hook
	hangs                 bool              // systemd does not answer, and a call of it fails only at its deadline
	limit                 int               // if not 0, systemd changes at most this many units until the deadline of a call passes
	failAt                int               // the number of the call of Persist that fails; 0 for none
	waits                 []string          // for each call to a slow systemd: how long the caller waits
}

func (s *systemd) note(path, value string) {
	if _, waits := s.pending[path]; waits || s.acknowledged[path] != value {
		s.pending[path] = value
	}
}

func (s *systemd) reload() {
	if len(s.pending) > 0 {
		s.rounds++
	}
	s.apply()
}

func (s *systemd) apply() {
	maps.Copy(s.acknowledged, s.pending)
	clear(s.pending)
}

// applySome changes pending units, but no more than the number in the field `limit`: systemd has no
// time for more before the deadline of a call. It returns an error if there are more units to
// change.
func (s *systemd) applySome() error {
	for _, path := range slices.Sorted(maps.Keys(s.pending))[:min(s.limit, len(s.pending))] {
		s.acknowledged[path] = s.pending[path]
		delete(s.pending, path)
	}
	if len(s.pending) > 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// wait records a call to a slow systemd. The caller waits until its deadline.
func (s *systemd) wait(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		s.waits = append(s.waits, "without a deadline")
		return errors.New("the caller would wait without a limit")
	}
	s.waits = append(s.waits, "until the deadline of the hook")
	<-ctx.Done()
	return ctx.Err()
}

// hang returns when ctx has ended, or after a minute if ctx does not end.
func (s *systemd) hang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

// hook returns the context for a call of a hook. If systemd is slow, the deadline of this context
// has already passed. So a hook that waits for systemd until its deadline fails at once, and the
// test need not wait.
func (w *world) hook() context.Context {
	if !w.systemd.slow {
		return context.Background()
	}
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	cancel()
	return ctx
}

// lookAtUnits is called when a container may start. A daemon-reload reverts each cgroup whose
// current CPUs the agent has not sent to systemd. If the container has exclusive CPUs, no reverted
// cgroup may contain any of these CPUs. If a daemon-reload would revert any cgroups, lookAtUnits
// adds a message with their names to w.overlaps. It leaves out the container's own cgroup if the
// CPUs are in the container's spec, because the container runtime has sent these to systemd. It
// also leaves out a cgroup to which a daemon-reload would give none of the container's CPUs.
func (w *world) lookAtUnits(id string, d workload.Decision) {
	pending := maps.Clone(w.systemd.pending)
	if c := w.containers[id]; c != nil && pending[c.Cgroup] == d.CPUs.String() {
		delete(pending, c.Cgroup)
	}
	maps.DeleteFunc(pending, func(path, _ string) bool {
		if strings.HasPrefix(path, burstable+"/") { // limited by the cgroup of its QoS class, whatever its own CPUs are
			return true
		}
		has, err := cpuset.Parse(w.systemd.acknowledged[path])
		return err == nil && !has.Empty() && !has.Overlaps(d.CPUs)
	})
	if d.Exclusive && len(pending) > 0 {
		w.overlaps = append(w.overlaps, fmt.Sprintf("%s may start, and systemd was not told of %v", id, slices.Sorted(maps.Keys(pending))))
	}
}

// TestSlowSystemd checks which hooks wait for systemd while they hold the lock that every hook needs.
// If a hook takes longer than the container runtime's timeout, the runtime drops the connection of
// the agent, and then no container can be created. So only hooks for exclusive CPUs may
// wait, and never longer than their own deadline.
func TestSlowSystemd(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x main:500m", "run x", "pod held policy=single main:2", "run held")
	s.systemd.slow = true
	limited := []string{"until the deadline of the hook"}
	for _, tc := range []struct {
		commands []string
		want     []string
	}{
		{[]string{"pod y main:500m", "sandbox y"}, nil},
		{[]string{"create y/main"}, nil},
		{[]string{"start y/main"}, nil},
		{[]string{"phase held Succeeded", "stop held", "sweep"}, nil},
		{[]string{"pod a policy=single main:2", "sandbox a"}, nil},
		{[]string{"create a/main"}, limited}, // refused, because a daemon-reload could give its CPUs to others
	} {
		s.systemd.waits = nil
		s.play(tc.commands...)
		if diff := cmp.Diff(tc.want, s.systemd.waits); diff != "" {
			t.Errorf("%v: calls of systemd (-want +got):\n%s", tc.commands, diff)
		}
	}
}

// TestHangingSystemd checks that a pod without exclusive CPUs starts while systemd does not answer and
// the agent works in the background. Each hook needs the lock of the node, so the background work may
// keep the lock for only a part of the time that the container runtime gives a hook (2 s by default).
// When systemd answers again, the agent completes the work.
func TestHangingSystemd(t *testing.T) {
	for name, tc := range map[string]struct {
		before     []string // script commands before systemd hangs
		background func(*script)
		events     []string // events of the background work
		exclusive  string   // the exclusive CPUs after the background work
		completed  string   // the exclusive CPUs when systemd has answered again
	}{
		"the runtime lists its containers": {
			before:     []string{"pod a policy=single main:2 other:1", "run a"},
			background: (*script).synchronize,
			exclusive:  "1,8-9", completed: "1,8-9",
		},
		"the agent checks partitions": {
			before:     []string{"pod a policy=single isolation=full main:2", "run a"},
			background: func(s *script) { s.play("retry") },
			exclusive:  "1,9", completed: "1,9",
		},
		"a container has given CPUs back": {
			before:     []string{"pod a policy=single main:2", "run a", "resize a/main 1"},
			background: func(s *script) { s.play("wait 10s") },
			exclusive:  "1,9", completed: "1",
		},
		"a container was resized while the agent was away": {
			before:     []string{"pod a policy=single main:2", "run a", "agent kill", "resize a/main 3"},
			background: (*script).synchronize,
			events:     []string{"ns/a NumaletRefused"},
			exclusive:  "1,9", completed: "1,8-9",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, &scenario.Answer{})
				s.play(append([]string{"agent start"}, tc.before...)...)
				if s.node == nil {
					if err := s.launchAgent(); err != nil {
						t.Fatal(err)
					}
				}
				s.systemd.hangs, s.events = true, nil
				ended := make(chan struct{})
				go func() { tc.background(s); close(ended) }()
				time.Sleep(3 * time.Second / 2)
				synctest.Wait()
				if s.node.mu.TryLock() {
					s.node.mu.Unlock()
					s.play("pod y main:500m", "run y")
					if c := s.containers[s.instance("y/main")]; c == nil || c.state != "running" {
						t.Error("the pod y does not run")
					}
				} else {
					t.Error("a hook would still wait for the lock of the node")
				}
				<-ended
				var events []string
				for _, e := range s.events {
					reason, _, _ := strings.Cut(e, ":")
					events = append(events, reason)
				}
				if diff := cmp.Diff(tc.events, events); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if got := s.node.View().Exclusive.String(); got != tc.exclusive {
					t.Errorf("exclusive CPUs while systemd hangs: %s, want %s", got, tc.exclusive)
				}
				s.systemd.hangs = false
				s.PersistLater()
				s.play("wait 1s")
				if got := s.node.View().Exclusive.String(); got != tc.completed {
					t.Errorf("exclusive CPUs when systemd answers again: %s, want %s", got, tc.completed)
				}
				if len(s.overlaps) > 0 {
					t.Error(s.overlaps)
				}
			})
		})
	}
}

// TestHooksGetTheLock checks how long a hook waits for the lock of the node while systemd does not
// answer and Run works in the background all the time. The hook takes the lock three times, as Start
// does.
func TestHooksGetTheLock(t *testing.T) {
	for name, commands := range map[string][]string{
		"a container has given CPUs back":                  {"run a", "resize a/main 1"},
		"a container was resized while the agent was away": {"run a", "agent kill", "resize a/main 3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, &scenario.Answer{})
				s.play(append([]string{"agent start", "pod a policy=single main:2"}, commands...)...)
				if s.node == nil {
					if err := s.launchAgent(); err != nil {
						t.Fatal(err)
					}
				}
				s.systemd.hangs, s.now = true, s.now+grace
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() {
					s.synchronize()
					ended <- s.node.Run(ctx)
				}()
				time.Sleep(time.Millisecond)
				for range 100 {
					start := time.Now()
					for locked := 0; locked < 3; {
						if s.node.mu.TryLock() { // Lock would stop the clock of package synctest
							s.node.mu.Unlock()
							locked++
						} else {
							time.Sleep(time.Millisecond)
						}
					}
					if waited := time.Since(start); waited > 3*time.Second/2 {
						t.Errorf("a hook waits for %v, want no more than 1.5 s", waited)
					}
					s.node.PodEnded("")
					time.Sleep(100 * time.Millisecond)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestReconcileWaits checks that reconcile waits for systemd after it has moved the shared containers,
// and again after it has moved the exclusive containers, here one that was created while the agent was
// down.
func TestReconcileWaits(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x main:500m", "run x", "agent kill", "pod a policy=single main:2", "sandbox a", "create a/main unpinned", "start a/main")
	calls, rounds := s.systemd.calls, s.systemd.rounds
	s.play("agent start")
	if got := s.systemd.calls - calls; got != 2 {
		t.Errorf("reconcile called Persist %d times, want 2", got)
	}
	// The fake PersistLater sends everything at once. reconcile calls it for the exclusive containers,
	// so a change can be pending only in a call of Persist before that.
	if got := s.systemd.rounds - rounds; got != 1 {
		t.Errorf("%d calls of Persist came before the exclusive containers were moved, want 1", got)
	}
	if len(s.overlaps) > 0 {
		t.Error(s.overlaps)
	}
}

// TestLateForSiblings checks a pod whose container b starts while its container a runs on the shared
// CPUs. If systemd does not learn in time that a moves to its own CPUs, b is refused, and the kubelet
// tries again.
func TestLateForSiblings(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("pod p policy=single isolation=full a:2 b:2", "run p unpinned", "break irqbalance", "agent start", "repair irqbalance", "exit p/b")
	s.events, s.systemd.failAt = nil, s.systemd.calls+2 // the first call is for the shared containers
	s.play("run p/b")
	want := []string{"ns/p NumaletRefused: systemd does not know yet on which CPUs other containers of the pod run: systemd is late; the kubelet will try again"}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestRoundsOfSystemd checks that each hook for a pod with two exclusive containers calls systemd
// at most once. A shared container of another pod runs on the same node.
func TestRoundsOfSystemd(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x main:500m", "run x", "pod a policy=single main:2 other:1", "sandbox a")
	var got []string
	for _, hook := range []string{"create a/main", "start a/main", "create a/other", "start a/other", "create a/main"} {
		before := s.systemd.rounds
		s.play(hook)
		got = append(got, fmt.Sprintf("%s: %d", hook, s.systemd.rounds-before))
	}
	want := []string{"create a/main: 1", "start a/main: 1", "create a/other: 0", "start a/other: 1", "create a/main: 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rounds (-want +got):\n%s", diff)
	}
	if s.systemd.acknowledged["/poda quota"] != "none" {
		t.Errorf("systemd was told %v, want no quota of /poda", s.systemd.acknowledged)
	}
	if len(s.overlaps) > 0 {
		t.Error(s.overlaps)
	}
}

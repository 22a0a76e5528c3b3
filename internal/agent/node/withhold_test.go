package node

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
)

// newLateScript returns a script with ten shared pods, which have 20 systemd units, and with the
// exclusive pods a and b, which have no container yet. From then on, systemd changes only five units
// before the deadline of a call passes.
func newLateScript(t *testing.T) *script {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start")
	for i := range 10 {
		s.play(fmt.Sprintf("pod x%d main:500m", i), fmt.Sprintf("run x%d", i))
	}
	s.play("pod a policy=single main:2", "sandbox a", "pod b policy=single main:4", "sandbox b")
	s.systemd.limit = 5
	return s
}

// attempts tries to create and start each of the containers. It repeats this for those that failed,
// as the kubelet does about every 10 s. It returns how often it tried. It gives up after 20 tries.
func (s *script) attempts(names ...string) (tries int) {
	for ; len(names) > 0 && tries < 20; tries++ {
		var failed []string
		for _, name := range names {
			if s.createContainer([]string{name}) != nil || s.startContainer([]string{name}) != nil {
				failed = append(failed, name)
			}
		}
		names = failed
		s.play("wait 12s")
	}
	return tries
}

// The method `without` checks that no shared container and no sandbox has any of these CPUs, and
// that each has all other online CPUs.
func (s *script) without(cpus string) {
	s.t.Helper()
	want := s.machine.Online().Minus(cpuset.MustParse(cpus))
	for path, g := range s.groups {
		if !g.cpus.Equal(want) {
			s.t.Errorf("%s is on CPUs %s, want %s", path, g.cpus, want)
		}
	}
	if got := s.node.View().Shared; !got.Equal(want) {
		s.t.Errorf("shared: %s, want %s", got, want)
	}
}

// TestLateSystemdMakesProgress checks that exclusive containers start, although systemd needs more
// than the time of one hook to apply the units of all shared containers.
func TestLateSystemdMakesProgress(t *testing.T) {
	for name, containers := range map[string][]string{"one pod": {"a/main"}, "two pods in turn": {"a/main", "b/main"}} {
		t.Run(name, func(t *testing.T) {
			s := newLateScript(t)
			if tries := s.attempts(containers...); tries > 8 {
				t.Errorf("started after %d attempts, want at most 8", tries)
			}
			if held := s.node.View().Held; len(held) != len(containers) {
				t.Errorf("held: %v, want the CPUs of %v", held, containers)
			}
			if len(s.overlaps) > 0 {
				t.Error(s.overlaps)
			}
		})
	}
}

// TestWithheldCPUsBecomeShared checks when withheld CPUs become shared again. These are CPUs that
// an exclusive container did not get, because systemd did not apply all changes before the hook's
// deadline.
func TestWithheldCPUsBecomeShared(t *testing.T) {
	for name, tc := range map[string]struct {
		commands []string
		without  string
	}{
		"the kubelet may try again":         {[]string{"wait 29s"}, "1,9"},
		"the kubelet tried again":           {[]string{"wait 20s", "create a/main", "wait 20s"}, "1,9"},
		"the kubelet does not try again":    {[]string{"wait 31s"}, ""},
		"the kubelet tried with fewer CPUs": {[]string{"resize a/main 1", "create a/main"}, "8"},
		"the pod was deleted":               {[]string{"delete a", "stop a", "sweep"}, ""},
		"the pod's sandbox was removed":     {[]string{"stop a", "remove a"}, ""},
		"another cause at the next time":    {[]string{"break disk", "create a/main", "repair disk", "wait 31s"}, ""},
		"the agent restarts":                {[]string{"agent kill", "agent start"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLateScript(t)
			s.systemd.limit = 1
			s.play("create a/main")
			s.without("1,9")
			if held := s.node.View().Held; len(held) > 0 {
				t.Errorf("held: %v, want nothing after the failure", held)
			}
			s.play(tc.commands...)
			s.without(tc.without)
		})
	}
}

// TestOtherFailuresWithholdNothing refuses an exclusive container because a cgroup cannot be
// written, and not because systemd is slow. It checks that the shared containers get the CPUs of the
// refused container back at once.
func TestOtherFailuresWithholdNothing(t *testing.T) {
	s := newLateScript(t)
	s.systemd.limit = 0
	s.play("pod y main:500m", "run y", "break y/main", "create a/main", "repair y/main")
	s.without("")
}

// TestRunGivesWithheldCPUsBack checks that Run itself gives the withheld CPUs back.
func TestRunGivesWithheldCPUsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateScript(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.node.Run(ctx) }()
		synctest.Wait()
		s.play("create a/main")
		synctest.Wait()
		s.without("1,9")
		s.node.mu.Lock() // Run reads the time under this lock
		s.now += giveBackAfter
		s.node.mu.Unlock()
		time.Sleep(2 * sweepInterval)
		synctest.Wait()
		s.without("")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
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
	rounds                int               // how often a hook waited for systemd
	down                  bool              // systemd does not answer
	slow                  bool              // systemd answers only after the deadline of every hook
	limit                 int               // if not 0, systemd changes at most this many units until the deadline of a call passes
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
		return errors.New("the deadline of package cgroup has passed")
	}
	s.waits = append(s.waits, "until the deadline of the hook")
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

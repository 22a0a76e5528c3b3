package node

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/workload"
)

// systemd is a fake. At a daemon-reload it reverts every value that it was not sent.
type systemd struct {
	acknowledged, pending map[string]string // by cgroup
	rounds                int               // number of requests
	down                  bool              // it does not answer
}

func (s *systemd) note(path, value string) {
	if s.acknowledged[path] != value {
		s.pending[path] = value
	}
}

func (s *systemd) reload() {
	if len(s.pending) > 0 {
		s.rounds++
	}
	maps.Copy(s.acknowledged, s.pending)
	clear(s.pending)
}

// lookAtUnits records what a daemon-reload would revert now that an exclusive container
// may start. The runtime has given systemd the CPUs of the container's own spec.
func (w *world) lookAtUnits(id string, d workload.Decision) {
	pending := maps.Clone(w.systemd.pending)
	if c := w.containers[id]; c != nil && pending[c.Cgroup] == d.CPUs.String() {
		delete(pending, c.Cgroup)
	}
	if d.Exclusive && len(pending) > 0 {
		w.overlaps = append(w.overlaps, fmt.Sprintf("%s may start, and systemd was not told of %v", id, slices.Sorted(maps.Keys(pending))))
	}
}

// TestRoundsOfSystemd counts what the hooks of a pod with two exclusive
// containers cost beside a shared one: each at most one round.
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
	if s.systemd.acknowledged["/poda"] != "no quota" {
		t.Errorf("systemd was told %v, want no quota of /poda", s.systemd.acknowledged)
	}
	if len(s.overlaps) > 0 {
		t.Error(s.overlaps)
	}
}

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

// systemd is a fake of systemd. It keeps the values of cgroups that the agent has sent, because a
// daemon-reload of systemd reverts all other values.
type systemd struct {
	acknowledged, pending map[string]string // values by cgroup
	rounds                int               // how often systemd was called
	down                  bool              // systemd does not answer
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

// lookAtUnits is called when a container may start. If the container has exclusive CPUs,
// lookAtUnits records an overlap for every cgroup whose values the agent has not sent to systemd,
// because a daemon-reload would revert these values. It leaves out the container's own cgroup if
// the CPUs are in the container's spec, because the container runtime has sent these to systemd.
func (w *world) lookAtUnits(id string, d workload.Decision) {
	pending := maps.Clone(w.systemd.pending)
	if c := w.containers[id]; c != nil && pending[c.Cgroup] == d.CPUs.String() {
		delete(pending, c.Cgroup)
	}
	if d.Exclusive && len(pending) > 0 {
		w.overlaps = append(w.overlaps, fmt.Sprintf("%s may start, and systemd was not told of %v", id, slices.Sorted(maps.Keys(pending))))
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
	if s.systemd.acknowledged["/poda"] != "no quota" {
		t.Errorf("systemd was told %v, want no quota of /poda", s.systemd.acknowledged)
	}
	if len(s.overlaps) > 0 {
		t.Error(s.overlaps)
	}
}

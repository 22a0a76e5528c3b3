package node

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
)

// TestManyBurstablePods checks that the number of cpusets that the agent writes when CPUs become
// exclusive, and when they become shared again, does not depend on the number of burstable pods.
func TestManyBurstablePods(t *testing.T) {
	got := map[int]map[Why]int{}
	for _, pods := range []int{1, 100} {
		s := newScript(t, &scenario.Answer{})
		s.play("agent start")
		for i := range pods {
			s.play(fmt.Sprintf("pod x%d burstable main:500m", i), fmt.Sprintf("run x%d", i))
		}
		clear(s.wrote)
		s.play("pod a policy=single main:2", "run a", "phase a Succeeded", "stop a", "sweep")
		if len(s.overlaps) > 0 {
			t.Error(s.overlaps)
		}
		got[pods] = s.wrote
	}
	if diff := cmp.Diff(got[1], got[100]); diff != "" {
		t.Errorf("written cpusets with 1 pod (-) and with 100 pods (+):\n%s", diff)
	}
	if got[1][Shrink] == 0 || got[1][Grow] == 0 {
		t.Errorf("written cpusets: %v, want some to shrink and some to grow", got[1])
	}
}

// TestWidensSharers checks that a burstable pod's container and pause process get all shared CPUs,
// although an agent of an earlier release has set fewer CPUs for them.
func TestWidensSharers(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x burstable main:500m", "run x", "agent kill")
	before := map[string]*group{}
	for path, g := range s.groups {
		if path != burstable {
			g.cpus = cpuset.Of(0)
			before[path] = g
		}
	}
	s.play("agent start")
	for path := range before {
		if got := s.effective(path, s.groups[path].cpus); !got.Equal(s.machine.Online()) {
			t.Errorf("%s has CPUs %s, want all shared CPUs", path, got)
		}
	}
	if len(before) != 2 {
		t.Errorf("cgroups of the pod: %v, want those of its container and its pause process", before)
	}
}

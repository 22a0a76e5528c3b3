package node

import (
	"fmt"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// TestStartWithoutCgroup checks the start of a container whose cgroup does not exist yet. The
// agent cannot write CPUs to a missing cgroup. So the container may start only if all CPUs in its
// spec are CPUs that the agent gave to it.
func TestStartWithoutCgroup(t *testing.T) {
	for name, tc := range map[string]struct {
		spec    cpuset.Set
		refused bool
	}{
		"its spec keeps it there": {cpuset.MustParse("0"), false},
		"its spec has others too": {cpuset.MustParse("0-16"), true},
		"its spec says nothing":   {cpuset.Set{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, &scenario.Answer{})
			s.play("agent start", "pod x main:500m", "sandbox x")
			c := workload.Container{ID: "c", Name: "main", Cgroup: "/podx/c", Sandbox: s.current("x"), Resources: workload.Resources{CPUs: tc.spec}}
			if err := s.node.Start(t.Context(), c); (err != nil) != tc.refused {
				t.Errorf("Start = %v, want refused %v", err, tc.refused)
			}
		})
	}
}

// TestFailedCreations checks that the node forgets a container whose creation has failed after the
// hook. The container runtime does not report the failure to the agent, as CRI-O does not.
func TestFailedCreations(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x main:500m", "sandbox x")
	for i := range 5 {
		c := containerOf(s.pods["x"], "main", s.current("x"))
		c.ID, c.Cgroup = fmt.Sprint(i), fmt.Sprintf("/podx/%d", i)
		if _, err := s.node.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if known := s.node.mu.pods["x"].containers; len(known) != 1 {
		t.Errorf("the node knows %d containers, want only the newest", len(known))
	}
}

// TestQuotaWithoutSpec checks that a container has no CFS quota of its own when it has exclusive CPUs,
// although the agent does not know the container's spec. With --enforce=cgroup, it knows no spec.
func TestQuotaWithoutSpec(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("pod a policy=single main:2", "run a unpinned")
	if err := s.launchAgent(); err != nil {
		t.Fatal(err)
	}
	c := s.containers[s.instance("a/main")].Container
	c.Resources = workload.Resources{}
	s.node.Synchronize(t.Context(), []workload.Sandbox{c.Sandbox}, []workload.Container{c})
	if !s.groups[c.Cgroup].cpus.Equal(cpuset.Of(1, 9)) || s.quotas[c.Cgroup] {
		t.Errorf("the container is on CPUs %s, with a quota: %v; want 1,9 and no quota", s.groups[c.Cgroup].cpus, s.quotas[c.Cgroup])
	}
}

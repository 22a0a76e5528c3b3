package virtual

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestModel checks the times at which 100 pods are placed. All of them arrive at the same time, and
// a proposer takes 200 ms for a pod.
func TestModel(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for name, tc := range map[string]struct {
		proposers int
		commit    time.Duration
		end       func(k int) time.Duration // when the k-th pod is placed, where the first pod has k = 1
	}{
		"single scheduler":               {1, 0, func(k int) time.Duration { return ms(200 * k) }},
		"two tiers":                      {100, ms(50), func(k int) time.Duration { return ms(200 + 50*k) }},
		"two tiers, no conflict":         {100, ms(5), func(k int) time.Duration { return ms(200 + 5*k) }},
		"more first-tier than pods":      {1000, ms(50), func(k int) time.Duration { return ms(200 + 50*k) }},
		"two schedulers, commit is free": {2, 0, func(k int) time.Duration { return ms(200 * ((k + 1) / 2)) }},
	} {
		t.Run(name, func(t *testing.T) {
			result := Run(cluster(t, 10, 100_000), pods(100, 1000), Model{Proposers: tc.proposers, Propose: ms(200), Commit: tc.commit})
			var want, got []time.Duration
			for k := range 100 {
				want = append(want, tc.end(k+1))
			}
			for _, p := range result.Placed {
				got = append(got, p.At)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ends of the pods (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFull runs the model with more pods than fit. It checks that all nodes are filled and that the
// remaining pods stay pending.
func TestFull(t *testing.T) {
	c := cluster(t, 3, 4000)
	result := Run(c, pods(20, 1000), Model{Proposers: 8, Propose: 10 * time.Millisecond, Commit: time.Millisecond})
	if len(result.Placed) != 12 || len(result.Unplaced) != 8 {
		t.Errorf("%d pods placed and %d not, want 12 and 8", len(result.Placed), len(result.Unplaced))
	}
	for node := range c.View().Nodes() {
		if node.Free.CPU != 0 {
			t.Errorf("node %s has %d free, want 0", node.Name, node.Free.CPU)
		}
	}
}

// cluster returns the state of an idle cluster of equal nodes.
func cluster(t *testing.T, nodes int, cpu sched.MilliCPU) *nodestate.State {
	t.Helper()
	state := nodestatetest.New(t, "cpu,memory", filter.Profile{})
	for i := range nodes {
		state.SetNode(&sched.Node{Name: fmt.Sprintf("node-%03d", i), Allocatable: sched.Amounts{CPU: cpu, Memory: 1 << 30, Pods: 110}})
	}
	return state
}

func pods(n int, cpu sched.MilliCPU) []*sched.Pod {
	var all []*sched.Pod
	for i := range n {
		name := fmt.Sprintf("pod-%03d", i)
		all = append(all, &sched.Pod{UID: name, Name: name, Requests: sched.Amounts{CPU: cpu, Pods: 1}})
	}
	return all
}

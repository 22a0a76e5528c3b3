package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestLook checks that a profile that looks at more nodes than its list has room
// for keeps the best of them by score: here the node with the most memory, which
// the policy would find last.
func TestLook(t *testing.T) {
	for look, want := range map[int][]string{0: {"n0"}, 3: {"n2"}, 99: {"n5"}} {
		c := nodestatetest.New(t, "cpu", filter.Profile{
			Policy: distbucket.BestFit, Candidates: 1, Scored: look,
			Scorer: func(to []int64, _ *sched.Pod, n *sched.Node) []int64 { return append(to, int64(n.Free.Memory)) },
		})
		for i := range 6 {
			c.SetNode(&sched.Node{Name: fmt.Sprint("n", i), Allocatable: sched.Amounts{CPU: sched.MilliCPU(1000 * (i + 1)), Memory: sched.Bytes(i), Pods: 9}})
		}
		var got []string
		for _, n := range pipeline.NewProposer(c.View, pipeline.ProposerOptions{}).Propose(&sched.Pod{Requests: sched.Amounts{CPU: 500, Pods: 1}}).Candidates {
			got = append(got, n.Node.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("look %d (-want +got):\n%s", look, diff)
		}
	}
}

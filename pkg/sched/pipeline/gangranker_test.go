package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// rankedCluster is a cluster in which the node policy "fragmentation" chooses the nodes of
// pods. It records the node of each pod.
type rankedCluster struct {
	*nodestate.State
	proposer  *pipeline.Proposer
	committer *pipeline.Committer
	at        map[string]string // name of the node, by UID of the pod
}

// newRankedCluster returns a cluster of 2 to 9 nodes with up to 8 GPUs each.
func newRankedCluster(t *testing.T, r *rand.Rand) *rankedCluster {
	t.Helper()
	profile := filter.NodePolicy{Fragmentation: true}.Apply(filter.Profile{}, fragmentation.Options{})
	c := &rankedCluster{State: nodestatetest.New(t, "gpus,cpu", profile), at: map[string]string{}}
	for i := range 2 + r.IntN(8) {
		node := &sched.Node{Name: fmt.Sprint("n", i), Allocatable: sched.Amounts{CPU: sched.MilliCPU(8000 + 8000*r.IntN(4)), Pods: 110}}
		for g := range r.IntN(9) {
			node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(g), Free: sched.WholeGPU})
		}
		c.SetNode(node)
	}
	c.proposer = pipeline.NewProposer(c.View, pipeline.ProposerOptions{})
	c.committer = pipeline.NewCommitter(c.State, nil, pipeline.Effects{
		Bind:              func(decision sched.Decision) { c.at[decision.Pod.UID] = decision.At.Node },
		MarkUnschedulable: func(*sched.Pod, uint64) {}, Requeue: func(*sched.Pod, sched.Reason) {},
	})
	return c
}

func (c *rankedCluster) schedule(pods ...*sched.Pod) {
	for _, pod := range pods {
		c.committer.Commit(c.proposer.Propose(pod))
	}
}

// gpuPods returns n random pods. Most of them request GPUs.
func gpuPods(r *rand.Rand, name string, n int) []*sched.Pod {
	pods := make([]*sched.Pod, n)
	for i := range pods {
		pods[i] = &sched.Pod{UID: fmt.Sprint(name, "-", i), Requests: sched.Amounts{CPU: sched.MilliCPU(1000 * (1 + r.IntN(4))), Pods: 1}}
		if count := []int{0, 1, 1, 1, 2, 4}[r.IntN(6)]; count > 0 {
			pods[i].GPUs = sched.GPURequest{Count: count, Milli: sched.WholeGPU}
		}
	}
	return pods
}

// TestGangWithRanker checks that the node policy "fragmentation" places the pods of a gang on
// the same nodes as if the pods were scheduled one after another. The clusters are partly full.
func TestGangWithRanker(t *testing.T) {
	placed := 0
	for seed := range uint64(300) {
		random := func() *rand.Rand { return rand.New(rand.NewPCG(5, seed)) }
		alone, together := newRankedCluster(t, random()), newRankedCluster(t, random())
		r := rand.New(rand.NewPCG(6, seed))
		old, members := gpuPods(r, "old", r.IntN(20)), gpuPods(r, "member", 2+r.IntN(8))
		alone.schedule(append(old, members...)...)
		together.schedule(old...)
		gang := &sched.Gang{ID: "gang", Need: 1, Members: members}
		together.schedule(&sched.Pod{UID: gang.ID, Gang: gang})
		if diff := cmp.Diff(alone.at, together.at); diff != "" {
			t.Fatalf("seed %d: nodes of the pods (-one after another +as a gang):\n%s", seed, diff)
		}
		placed += len(together.at)
	}
	if placed < 1000 {
		t.Errorf("%d pods were placed: too few to prove anything", placed)
	}
}

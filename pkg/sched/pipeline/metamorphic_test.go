package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestAmple runs the same trace with 1 to 16 proposers. The cluster has room for all pods, so all
// pods must be placed, whatever the number of proposers.
func TestAmple(t *testing.T) {
	for n := 1; n <= 16; n *= 2 {
		t.Run(fmt.Sprintf("proposers=%d", n), func(t *testing.T) {
			run := trace{nodes: 20, pods: 400, proposers: n, policy: distbucket.LeastFit, node: schedtest.Ample}.run(t)
			if len(run.unschedulable) > 0 {
				t.Errorf("%d pods have no place, such as %+v", len(run.unschedulable), run.unschedulable[0])
			}
		})
	}
}

// TestTight schedules more pods than fit, and every fourth Binding fails. It checks that no
// resource is assigned twice, and that a pod is left without a node only if it fits no node.
func TestTight(t *testing.T) {
	for _, policy := range []distbucket.Policy{distbucket.LeastFit, distbucket.BestFit, distbucket.FirstFit, distbucket.NextFit, distbucket.Random} {
		for _, n := range []int{1, 3, 16} {
			t.Run(fmt.Sprintf("%s/proposers=%d", policy, n), func(t *testing.T) {
				trace{nodes: 6, pods: 150, proposers: n, policy: policy, node: schedtest.Node, failing: 4}.run(t)
			})
		}
	}
}

// trace describes a cluster and a number of pods that arrive at the same time.
type trace struct {
	nodes, pods, proposers int
	policy                 distbucket.Policy
	node                   func(*rand.Rand, string) *sched.Node
	failing                int // every Nth Binding fails; 0 for none
}

// ran is the result of a trace.
type ran struct {
	bound         map[string]sched.Decision // by UID
	unschedulable []*sched.Pod
}

// run schedules the pods of a trace and checks what must hold after every trace.
func (tr trace) run(t *testing.T) ran {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 6))
	c := tr.cluster(t, r)
	var pods []*sched.Pod
	for len(pods) < tr.pods {
		pod := schedtest.Pod(r, fmt.Sprint("pod-", len(pods)))
		pod.UID = pod.Name
		if suitsSome(c, pod) {
			pods = append(pods, pod)
		}
	}
	empty := slices.Collect(c.View().Nodes())
	out := tr.cycle(t, c, pods)
	checkSums(t, c, empty, out.bound)
	for _, pod := range out.unschedulable {
		if suitsSome(c, pod) {
			t.Errorf("%+v has no place, but would fit", pod)
		}
	}
	if len(out.bound)+len(out.unschedulable) != len(pods) {
		t.Errorf("of %d pods, %d are bound and %d unschedulable", len(pods), len(out.bound), len(out.unschedulable))
	}
	return out
}

// cycle schedules the pods: it runs proposers, a committer and binders until each pod is bound or
// unschedulable.
func (tr trace) cycle(t *testing.T, state *nodestate.State, pods []*sched.Pod) ran {
	t.Helper()
	var mu sync.Mutex
	bound, tries := map[string]sched.Decision{}, 0
	queue := schedtest.NewQueue(pods, func() uint64 { return state.View().FreedSeq })
	config := pipeline.Config{Binders: 3, Bind: func(_ context.Context, decision sched.Decision, _ func()) error {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tr.failing > 0 && tries%tr.failing == 0 {
			return errors.New("the API server is away")
		}
		if _, twice := bound[decision.Pod.UID]; twice {
			t.Errorf("%s is bound twice", decision.Pod)
		}
		bound[decision.Pod.UID] = decision
		queue.Done()
		return nil
	}}
	for i := range tr.proposers {
		config.Proposers = append(config.Proposers, pipeline.ProposerOptions{Rand: rand.New(rand.NewPCG(uint64(i), 7))})
	}
	if err := pipeline.New(state, queue, config).Run(t.Context()); !errors.Is(err, schedtest.ErrDrained) {
		t.Fatalf("run cycle: %v", err)
	}
	return ran{bound, queue.Unschedulable()}
}

func (tr trace) cluster(t *testing.T, r *rand.Rand) *nodestate.State {
	t.Helper()
	state := nodestatetest.New(t, "numa-single,numa-spread,gpu-total,cpu,memory,pods", filter.Profile{Policy: tr.policy})
	for i := range tr.nodes {
		state.SetNode(tr.node(r, fmt.Sprintf("node-%03d", i)))
	}
	return state
}

func suitsSome(state *nodestate.State, pod *sched.Pod) bool {
	for n := range state.View().Nodes() {
		if !filter.Check(pod, n).Refuses() {
			return true
		}
	}
	return false
}

// checkSums checks that no resource is assigned twice. The argument `empty` has a record of each
// node as it was before any pod was placed. From these records, checkSums subtracts what the bound
// pods hold. The differences must equal the state's records of the nodes, and must not be negative.
func checkSums(t *testing.T, state *nodestate.State, empty []*sched.Node, bound map[string]sched.Decision) {
	t.Helper()
	for _, node := range empty {
		left := *node
		for _, d := range bound {
			if d.At.Node == node.Name {
				left = *left.Take(sched.Hold(d.Pod, d.At))
			}
		}
		newest := *state.Record(node.Name)
		left.Version, left.Source, newest.Version, newest.Source = 0, nil, 0, nil
		if diff := cmp.Diff(left, newest); diff != "" {
			t.Errorf("node %s (-sum of its pods +state):\n%s", node.Name, diff)
		}
		if overcommitted(left) {
			t.Errorf("node %s gave away more than it has: %+v", node.Name, left)
		}
	}
}

func overcommitted(n sched.Node) bool {
	return n.Free.CPU < 0 || n.Free.Memory < 0 || n.Free.Pods < 0 || n.Free.Extended.Of("example.com/nic") < 0 ||
		slices.ContainsFunc(n.NUMA, func(on sched.NUMANode) bool { return on.FreeCPUs < 0 || on.FreeMemory < 0 }) ||
		slices.ContainsFunc(n.GPUs, func(gpu sched.GPU) bool { return gpu.Free < 0 })
}

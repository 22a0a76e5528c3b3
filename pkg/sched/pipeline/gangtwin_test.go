package pipeline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// gangTwin is a simple model of a committer that places gangs. It knows only the free CPU of
// each node.
type gangTwin struct {
	free map[string]sched.MilliCPU // by node
	at   map[string]string         // node by pod
}

// commit places the members of a gang one after another, each on the node with the most free
// CPU. Of several such nodes it takes the first by name. If too few members fit, it places none
// of them.
func (w *gangTwin) commit(g *sched.Gang) bool {
	free, at := maps.Clone(w.free), maps.Clone(w.at)
	have := 0
	for _, pod := range g.Members {
		if at[pod.UID] == "" {
			best := slices.MinFunc(slices.Sorted(maps.Keys(free)), func(a, b string) int { return int(free[b] - free[a]) })
			if free[best] < pod.Requests.CPU {
				continue
			}
			at[pod.UID] = best
			free[best] -= pod.Requests.CPU
		}
		have++
	}
	if have < g.Need {
		return false
	}
	w.free, w.at = free, at
	return true
}

// TestGangTwin gives the same gangs to the committer and to the model gangTwin, and compares
// the results. The same gangs must start, with the same pods on the same nodes. A gang that
// does not start must hold no resources.
func TestGangTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	started, waited := 0, 0
	for range 300 {
		c, twin := gangCluster(t, r)
		bound := map[string]string{}
		committer := pipeline.NewCommitter(c, nil, pipeline.Effects{
			Bind:              func(decision sched.Decision) { bound[decision.Pod.UID] = decision.At.Node },
			MarkUnschedulable: func(*sched.Pod, uint64) {}, Requeue: func(*sched.Pod, sched.Reason) {},
		})
		commit := func(gang *sched.Gang) bool {
			list := pipeline.NewProposer(c.View, pipeline.ProposerOptions{}).Propose(&sched.Pod{UID: gang.ID, Gang: gang})
			return committer.Commit(list)
		}
		var gangs []*sched.Gang
		for range 8 {
			switch r.IntN(4) {
			case 0: // a bound pod ends
				for uid, node := range bound {
					c.Release(uid)
					twin.free[node] += sched.MilliCPU(uid[len(uid)-1]-'0') * 1000
					delete(twin.at, uid)
					delete(bound, uid)
					break
				}
			case 1: // the gang is committed again, so that its pods without a node may get one
				if len(gangs) == 0 {
					continue
				}
				gang := gangs[r.IntN(len(gangs))]
				commit(gang)
				twin.commit(gang)
			default:
				gang := randomGang(r, len(gangs))
				gangs = append(gangs, gang)
				got, want := commit(gang), twin.commit(gang)
				if got != want {
					t.Fatalf("gang %+v starts %v, want %v; bound %v", gang, got, want, bound)
				}
				if got {
					started++
				} else {
					waited++
				}
			}
			compareGangs(t, c, twin, bound)
		}
	}
	if started < 100 || waited < 100 {
		t.Errorf("%d gangs started and %d did not: too few to prove anything", started, waited)
	}
}

func compareGangs(t *testing.T, state *nodestate.State, twin *gangTwin, bound map[string]string) {
	t.Helper()
	free := map[string]sched.MilliCPU{}
	for node := range state.View().Nodes() {
		free[node.Name] = node.Free.CPU
	}
	if diff := cmp.Diff(twin.at, bound) + cmp.Diff(twin.free, free); diff != "" {
		t.Fatalf("where pods are, and what is free (-want +got):\n%s", diff)
	}
}

func gangCluster(t *testing.T, r *rand.Rand) (*nodestate.State, *gangTwin) {
	t.Helper()
	state := nodestatetest.New(t, "cpu", filter.Profile{Policy: distbucket.LeastFit})
	twin := &gangTwin{free: map[string]sched.MilliCPU{}, at: map[string]string{}}
	for i := range 1 + r.IntN(5) {
		name, cpu := fmt.Sprint("node", i), sched.MilliCPU(1+r.IntN(8))*1000
		state.SetNode(&sched.Node{Name: name, Allocatable: sched.Amounts{CPU: cpu, Pods: 110}})
		twin.free[name] = cpu
	}
	return state, twin
}

// randomGang returns a gang. The UID of each pod ends with the number of CPUs that the pod
// requests.
func randomGang(r *rand.Rand, number int) *sched.Gang {
	gang := &sched.Gang{ID: fmt.Sprint("gang", number)}
	for i := range 1 + r.IntN(5) {
		cpus := 1 + r.IntN(4)
		uid := fmt.Sprintf("%s-%d-%d", gang.ID, i, cpus)
		requests := sched.Amounts{CPU: sched.MilliCPU(cpus) * 1000, Pods: 1}
		gang.Members = append(gang.Members, &sched.Pod{UID: uid, Name: uid, Gang: gang, Requests: requests})
	}
	gang.Need = 1 + r.IntN(len(gang.Members))
	return gang
}

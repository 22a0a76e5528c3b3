package filters

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// BenchmarkHeld measures two durations. proposed-ms is the longest time that a proposer needs to
// list nodes for one pod or gang. held-ms is the longest time that the committer needs to decide
// from one such list. The cluster has 5,000 nodes and 100,000 pods. Run the benchmark with
// -benchtime 3x. In an earlier design, in which the committer searched for nodes itself, held-ms
// was 37,000 and 54,000 for the two gangs with pod affinity (the cases "near gang of 200 …" below).
func BenchmarkHeld(b *testing.B) {
	a := newArena(b, 5000, 20, 0.5, localVolume("disk", "node-004000"), localClass(), claim("disk"))
	near := func(p *st.PodWrapper) *st.PodWrapper {
		return p.Label("app", "train").PodAffinityExists("app", "zone", st.PodAffinityWithRequiredReq)
	}
	apart := func(p *st.PodWrapper) *st.PodWrapper {
		return p.Label("app", "lone").PodAntiAffinityIn("app", "zone", []string{"lone"}, st.PodAntiAffinityWithRequiredReq)
	}
	plain := func(p *st.PodWrapper) *st.PodWrapper { return p }
	disk := func(p *st.PodWrapper) *st.PodWrapper { return p.PVC("disk") } // only one node has this volume
	for _, tc := range []struct {
		name  string
		make  func(name string) *sched.Pod
		taken bool // the listed nodes are filled by other pods before the committer reads the list
	}{
		{"plain gang of 200", func(name string) *sched.Pod { return a.gang(name, 200, 0, plain) }, false},
		{"near gang of 200", func(name string) *sched.Pod { return a.gang(name, 200, 0, near) }, false},
		{"near gang of 200 and one too large", func(name string) *sched.Pod { return a.gang(name, 200, 1, near) }, false},
		{"lone pod", func(name string) *sched.Pod { return a.ruled(name, 500, apart) }, false},
		{"pod with a volume", func(name string) *sched.Pod { return a.ruled(name, 500, disk) }, false},
		{"lone pod, nodes taken", func(name string) *sched.Pod { return a.ruled(name, 500, apart) }, true},
	} {
		b.Run(tc.name, func(b *testing.B) {
			held, proposed := time.Duration(0), time.Duration(0)
			c := a.newState(distbucket.LeastFit)
			first := pipeline.NewProposer(c.View, pipeline.ProposerOptions{Filter: a.first[0]})
			var bound []sched.Decision
			second := pipeline.NewCommitter(c, a.second, pipeline.Effects{
				Bind: func(d sched.Decision) { bound = append(bound, d) }, Requeue: func(*sched.Pod, sched.Reason) {}, MarkUnschedulable: func(*sched.Pod, uint64) {},
				Widen: pipeline.NewProposer(c.View, pipeline.ProposerOptions{Filter: a.second}).Propose,
			})
			for i := 0; b.Loop(); i++ {
				pod := tc.make(fmt.Sprint(tc.name, i))
				began := time.Now()
				list := first.Propose(pod)
				proposed = max(proposed, time.Since(began))
				if tc.taken {
					for _, candidate := range list.Candidates {
						c.Adopt(nodestate.Assignment{UID: candidate.Node.Name, Node: candidate.Node.Name, Holding: sched.Holding{Amounts: candidate.Node.Free}})
					}
				}
				began = time.Now()
				second.Commit(list)
				held = max(held, time.Since(began))
				for _, d := range bound {
					second.Undo(d)
				}
				bound = bound[:0]
				for _, candidate := range list.Candidates {
					c.Release(candidate.Node.Name)
				}
			}
			b.ReportMetric(float64(held.Microseconds())/1000, "held-ms")
			b.ReportMetric(float64(proposed.Microseconds())/1000, "proposed-ms")
		})
	}
}

// gang returns a queue entry (sched.Pod) for a whole gang. The parameter `fit` is the number of its
// pods that fit, and `large` is the number of its pods that fit no node. The function given as
// `rules` adds (anti-)affinity or a volume to each pod.
func (a *arena) gang(name string, fit, large int, rules func(*st.PodWrapper) *st.PodWrapper) *sched.Pod {
	g := &sched.Gang{ID: name, Need: fit + large}
	for i := range fit + large {
		cpu := int64(500)
		if i >= fit {
			cpu = 65_000
		}
		member := a.ruled(fmt.Sprint(name, "-", i), cpu, rules)
		member.Gang = &sched.Gang{ID: name, Need: fit + large}
		g.Members = append(g.Members, member)
	}
	first := *g.Members[0]
	first.UID, first.Name, first.Gang = g.ID, g.ID, g
	return &first
}

// ruled returns a pod to which the function given as `rules` has added (anti-)affinity or a volume.
func (a *arena) ruled(name string, cpu int64, rules func(*st.PodWrapper) *st.PodWrapper) *sched.Pod {
	a.Helper()
	p := a.pod(name, cpu, 4<<30, 0)
	object := rules(st.MakePod().Name(name).UID(name).Namespace("default").Label("app", "web")).Obj()
	object.Spec.Containers = []v1.Container{{Name: "main"}}
	foreign, err := NewPod(object)
	if err != nil {
		a.Fatal(err)
	}
	p.Foreign, p.Across, p.Reserves, p.Topics = foreign, foreign.Across(), foreign.claim, foreign.topics()
	return p
}

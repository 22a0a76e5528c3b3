package filters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// The figures in docs/benchmarks/logs/performance.md come from
//
//	CGO_ENABLED=0 go test -trimpath ./internal/controller/filters -run '^$' -bench 'Filter|Decide' -cpu 1 -benchtime 20000x -count 6
//	CGO_ENABLED=0 go test -trimpath ./internal/controller/filters -run '^$' -bench Cycle -benchtime 20000x -count 6
//
// To compare two versions, run the benchmarks ten times with each (-count 10), and compare the
// results with golang.org/x/perf/cmd/benchstat. The unit cpu-µs/op is CPU time. If other programs
// run on the machine, compare the CPU times instead of the elapsed times.

// BenchmarkFilter measures how long the filters take for one pod: PreFilter once, and then Filter
// on a number of candidate nodes.
func BenchmarkFilter(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		a := newArena(b, nodes, 20, 0.1)
		a.newState(distbucket.LeastFit)
		request := a.pod("p", 500, 4<<30, 1)
		for _, candidates := range []int{1, 4} {
			b.Run(fmt.Sprintf("nodes=%d/candidates=%d", nodes, candidates), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, why := a.first[0].Begin(request); why.Refuses() {
						b.Fatal(why)
					}
					for j := range candidates {
						if why := a.first[0].Check(a.records[(i*candidates+j)%nodes]); why.Refuses() {
							b.Fatal(why)
						}
					}
				}
			})
		}
	}
}

// BenchmarkDecide measures a whole decision on one core: a proposer lists nodes with all filters,
// and the committer assigns one of the listed nodes. The benchmark runs for pods that can be
// placed, and for pods that fit nowhere. So that the cluster stays equally full, placed pods are
// released from time to time. The time for this is not measured.
func BenchmarkDecide(b *testing.B) {
	for _, fill := range []float64{0, 0.5, 0.95} {
		for _, servers := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("fill=%v/nodes=%d", fill, servers), func(b *testing.B) {
				a := newArena(b, servers, 4, fill)
				for _, policy := range []distbucket.Policy{distbucket.LeastFit, distbucket.BestFit} {
					c := a.newState(policy)
					b.Run(fmt.Sprintf("policy=%s/pod=placed", policy), func(b *testing.B) { a.decide(b, c, a.small(256), true) })
					b.Run(fmt.Sprintf("policy=%s/pod=infeasible", policy), func(b *testing.B) { a.decide(b, c, a.edges(c, 32), false) })
				}
			})
		}
	}
}

// decide schedules the pods again and again, as a scheduler does in steady state. Before it
// measures, it runs until the garbage collector reuses memory. Otherwise the benchmark would also
// measure page faults, because new memory from the kernel costs one page fault per 4 KiB. In large
// clusters, this would be one page fault for each decision.
func (a *arena) decide(b *testing.B, c *nodestate.State, pods []*sched.Pod, fit bool) {
	p := pipeline.NewProposer(c.View, pipeline.ProposerOptions{Filter: a.first[0], Rand: rand.New(rand.NewPCG(1, 1))})
	m := pipeline.NewCommitter(c, a.second, pipeline.Effects{
		Bind:              func(sched.Decision) {},
		Requeue:           func(*sched.Pod, sched.Reason) { b.Fatal("lost without a rival") },
		MarkUnschedulable: func(*sched.Pod, uint64) {},
	})
	for range 128 {
		for _, pod := range pods {
			m.Commit(p.Propose(pod))
		}
		a.end(c, pods...)
	}
	runtime.GC()
	var clock meter
	b.ReportAllocs()
	clock.start()
	for i := 0; b.Loop(); i++ {
		if m.Commit(p.Propose(pods[i%len(pods)])) != fit {
			b.Fatalf("placed: %t, want %t", !fit, fit)
		}
		if fit && i%len(pods) == len(pods)-1 {
			b.StopTimer()
			clock.stop()
			a.end(c, pods...)
			c.View()
			clock.start()
			b.StartTimer()
		}
	}
	clock.stop()
	clock.report(b, b.N)
	a.end(c, pods...)
}

// BenchmarkCycle measures the decisions of several proposers (which list nodes) and the committer
// (which assigns the node) with all filters. The queue has b.N pods at first, and the function that
// binds pods does nothing. A pod that fits nowhere counts as a decision as well. For example,
// 27,546 pods are placed if b.N is 40,000 and each pod requests one GPU. The others fit nowhere.
func BenchmarkCycle(b *testing.B) {
	b.Run("nodes=5000", func(b *testing.B) {
		a := newArena(b, 5000, 20, 0.5)
		for gpus := range int64(2) {
			for _, proposers := range []int{1, 2, 4, most} {
				c := a.newState(distbucket.LeastFit)
				b.Run(fmt.Sprintf("gpus=%d/proposers=%d", gpus, proposers), func(b *testing.B) { a.runPipeline(b, c, proposers, gpus) })
			}
		}
	})
}

func (a *arena) runPipeline(b *testing.B, c *nodestate.State, proposers int, gpus int64) {
	pods := make([]*sched.Pod, b.N)
	for i := range pods {
		pods[i] = a.pod(fmt.Sprint("new-", i), 500, 4<<30, gpus)
	}
	queue := schedtest.NewQueue(pods, c.FreedSeq)
	config := pipeline.Config{Filter: a.second, Bind: func(context.Context, sched.Decision, func()) error { queue.Done(); return nil }}
	for i := range proposers {
		config.Proposers = append(config.Proposers, pipeline.ProposerOptions{Filter: a.first[i], Rand: rand.New(rand.NewPCG(1, uint64(i)))})
	}
	run := pipeline.New(c, queue, config)
	var clock meter
	b.ReportAllocs()
	b.ResetTimer()
	clock.start()
	if err := run.Run(b.Context()); !errors.Is(err, schedtest.ErrDrained) {
		b.Fatal(err)
	}
	clock.stop()
	clock.report(b, b.N)
	b.StopTimer()
	n := run.Counters()
	b.ReportMetric(float64(n.Commits+n.Unschedulable)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(n.Unschedulable)/float64(b.N), "unschedulable/op")
	b.ReportMetric(float64(n.Passed+n.Failed)/float64(b.N), "re-checks/op")
	b.ReportMetric(float64(n.Requeues)/float64(b.N), "requeues/op")
	a.end(c, pods...)
}

// BenchmarkBound measures how long it takes to note that a pod was bound as decided: the state
// replaces the decision, and the filters replace the version of the pod.
func BenchmarkBound(b *testing.B) {
	const nodes = 1000
	a := newArena(b, nodes, 4, 0.1)
	c := a.newState(distbucket.LeastFit)
	pods := a.small(b.N)
	bound := make([]*v1.Pod, b.N)
	for i, pod := range pods {
		at, decided := sched.Placement{Node: a.records[i%nodes].Name}, pod.Foreign.(*Pod).info.Pod
		decided.Generation = 1
		bound[i] = decided.DeepCopy()
		bound[i].Spec.NodeName = at.Node
		if !c.Place(pod, c.Record(at.Node), at, c.NarrowSeq()) {
			b.Fatalf("pod %s is not placed", pod)
		}
	}
	var clock meter
	b.ReportAllocs()
	b.ResetTimer()
	clock.start()
	for i, pod := range pods {
		known, err := NewBoundPod(bound[i], c.Assignment(pod.UID))
		if err != nil {
			b.Fatal(err)
		}
		c.Adopt(nodestate.Assignment{UID: pod.UID, Node: bound[i].Spec.NodeName, Holding: sched.Holding{Amounts: pod.Requests}, Foreign: known})
	}
	clock.stop()
	clock.report(b, b.N)
}

// BenchmarkPrefer measures how long a proposer takes to list nodes for a pod with preferences.
// There are three cases. In the case "nodes", the pod prefers nodes with a label. In the case
// "few", the pod prefers zones that have few pods with the label app=rare. No placed pod has this
// label. In the case "pods", the pod prefers zones that have few pods with the label app, whatever
// its value. All placed pods have this label.
func BenchmarkPrefer(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		a := newArena(b, nodes, 20, 0.1)
		c := a.newState(distbucket.LeastFit)
		few := st.MakeLabelSelector().In("app", []string{"rare"}).Obj()
		for name, object := range map[string]*st.PodWrapper{
			"nodes": preferring(liking("p"), "7", 1),
			"few":   liking("p").SpreadConstraint(1, "zone", v1.ScheduleAnyway, few, nil, nil, nil, nil),
			"pods":  liking("p").SpreadConstraint(1, "zone", v1.ScheduleAnyway, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil),
		} {
			foreign, err := NewPod(object.Obj())
			if err != nil {
				b.Fatal(err)
			}
			request := a.pod("p", 500, 4<<30, 0)
			request.Foreign = foreign
			p := pipeline.NewProposer(c.View, pipeline.ProposerOptions{Filter: a.first[0], Rand: rand.New(rand.NewPCG(1, 1))})
			b.Run(fmt.Sprintf("nodes=%d/by=%s", nodes, name), func(b *testing.B) {
				var clock meter
				b.ReportAllocs()
				p.Propose(request)
				clock.start()
				for b.Loop() {
					if len(p.Propose(request).Candidates) == 0 {
						b.Fatal("no node fits")
					}
				}
				clock.stop()
				clock.report(b, b.N)
			})
		}
	}
}

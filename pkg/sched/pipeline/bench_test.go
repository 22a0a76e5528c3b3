package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/topology"
)

// The figures in docs/benchmarks/logs/performance.md were measured with this command:
//
//	go test ./pkg/sched/pipeline -run '^$' -bench . -cpu 1
//
// To judge a change of the code, run the command with -count 10 before and after the change.
// Compare the two outputs with golang.org/x/perf/cmd/benchstat.

// BenchmarkDecide measures one decision on one core: a proposer makes the list of nodes for a pod,
// and the committer commits the list. From time to time the benchmark stops its timer and ends the
// pods that it has placed, so that nearly the same share of the cluster stays in use.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 100_000} {
		for _, fill := range []int{0, 50, 95} {
			for kind, pod := range map[string]sched.Pod{"plain": plain(), "gpu": withGPU(), "single": single()} {
				b.Run(fmt.Sprintf("nodes=%d/fill=%d/pod=%s", nodes, fill, kind), func(b *testing.B) {
					decide(b, filled(b, nodes, fill), pod)
				})
			}
		}
	}
}

// BenchmarkRefuse measures how long it takes to find out that a pod fits no node.
func BenchmarkRefuse(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 100_000} {
		for _, fill := range []int{0, 50, 95} {
			b.Run(fmt.Sprintf("nodes=%d/fill=%d", nodes, fill), func(b *testing.B) {
				c, pod := filled(b, nodes, fill), single()
				pod.Exclusive[0].CPUs = 33
				p := pipeline.NewProposer(c.View, pipeline.ProposerOptions{})
				b.ReportAllocs()
				for b.Loop() {
					if list := p.Propose(&pod); len(list.Candidates) > 0 {
						b.Fatal("a node suits")
					}
				}
			})
		}
	}
}

// BenchmarkCycle measures proposers, the committer and binders, which run in separate goroutines.
// The binders call a Bind that only counts the pod as done. Run the benchmark with -cpu 2, or with
// as many CPUs as the machine has.
func BenchmarkCycle(b *testing.B) {
	for _, proposers := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("nodes=5000/proposers=%d", proposers), func(b *testing.B) {
			c := filled(b, 5000, 50)
			pods := make([]*sched.Pod, b.N)
			for i := range pods {
				pod := plain()
				pod.UID = strconv.Itoa(i)
				pods[i] = &pod
			}
			queue := schedtest.NewQueue(pods, c.FreedSeq)
			config := pipeline.Config{Bind: func(context.Context, sched.Decision, func()) error { queue.Done(); return nil }}
			for i := range proposers {
				config.Proposers = append(config.Proposers, pipeline.ProposerOptions{Rand: rand.New(rand.NewPCG(1, uint64(i)))})
			}
			run := pipeline.New(c, queue, config)
			b.ReportAllocs()
			b.ResetTimer()
			if err := run.Run(b.Context()); !errors.Is(err, schedtest.ErrDrained) {
				b.Fatal(err)
			}
			n := run.Counters()
			b.ReportMetric(float64(n.Commits)/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(float64(n.Passed+n.Failed)/float64(b.N), "re-checks/op")
			b.ReportMetric(float64(n.Requeues)/float64(b.N), "requeues/op")
		})
	}
}

func decide(b *testing.B, state *nodestate.State, pod sched.Pod) {
	p := pipeline.NewProposer(state.View, pipeline.ProposerOptions{Rand: rand.New(rand.NewPCG(1, 1))})
	m := pipeline.NewCommitter(state, nil, pipeline.Effects{
		Bind:              func(sched.Decision) {},
		Requeue:           func(*sched.Pod, sched.Reason) { b.Fatal("lost without a rival") },
		MarkUnschedulable: func(*sched.Pod, uint64) { b.Fatal("no node suits") },
	})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		next := pod
		next.UID = strconv.Itoa(i)
		m.Commit(p.Propose(&next))
		if i%256 == 255 {
			b.StopTimer()
			for j := i - 255; j <= i; j++ {
				state.Release(strconv.Itoa(j))
			}
			state.View()
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// filled returns a cluster of servers. On each server, pods of random sizes use the given
// percentage of the CPUs.
func filled(b *testing.B, nodes, percent int) *nodestate.State {
	b.Helper()
	state := nodestatetest.New(b, "gpus,numa-single,cpu,memory", filter.Profile{Theta: []int64{1, 1, 1000, 1 << 30}, Policy: distbucket.LeastFit})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range nodes {
		n := server(fmt.Sprintf("node-%06d", i))
		state.SetNode(n)
		for used := 0; used < percent*64/100; {
			cpus := min(1+r.IntN(8), percent*64/100-used)
			used += cpus
			h := sched.Holding{Amounts: sched.Amounts{CPU: sched.MilliCPU(cpus * 1000), Memory: sched.Bytes(cpus) << 32, Pods: 1}}
			h.NUMA = []sched.NUMAShare{{ID: n.NUMA[r.IntN(2)].ID, CPUs: cpus / 2}}
			if used%10 == 0 {
				h.GPUs = []sched.GPUShare{{ID: n.GPUs[r.IntN(8)].ID, Milli: sched.WholeGPU / 8}}
			}
			state.Adopt(nodestate.Assignment{UID: fmt.Sprint(n.Name, "-", used), Node: n.Name, Holding: h})
		}
	}
	state.View() // this builds the indexes before the benchmark starts
	return state
}

// server returns a node of 64 CPUs, 2 NUMA nodes and 8 GPUs.
func server(name string) *sched.Node {
	node := &sched.Node{Name: name, Allocatable: sched.Amounts{CPU: 64_000, Memory: 512 << 30, Pods: 250}}
	for id := range 2 {
		node.NUMA = append(node.NUMA, sched.NUMANode{
			ID: topology.NodeID(id), CPUs: 32, FreeCPUs: 32, Memory: 256 << 30, FreeMemory: 256 << 30,
		})
	}
	for i := range 8 {
		node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(i), Type: "H200", Free: sched.WholeGPU})
	}
	return node
}

func plain() sched.Pod {
	return sched.Pod{Requests: sched.Amounts{CPU: 1000, Memory: 1 << 30, Pods: 1}}
}

func withGPU() sched.Pod {
	pod := plain()
	pod.GPUs = sched.GPURequest{Count: 1, Milli: sched.WholeGPU}
	return pod
}

func single() sched.Pod {
	pod := plain()
	pod.CPUPolicy, pod.Exclusive = podspec.Single, []podspec.Container{{Name: "app", CPUs: 1}}
	return pod
}

// BenchmarkHardToPack measures how long a proposer needs to find out that a pod fits no node if the
// pod's exclusive containers are hard to pack: there are many ways to place them, and none fits.
func BenchmarkHardToPack(b *testing.B) {
	for _, nodes := range []int{10, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			state := nodestatetest.New(b, "gpus,numa-single,cpu,memory", filter.Profile{})
			pod, r := single(), rand.New(rand.NewPCG(33, 24)) // most other seeds give pods that fit, or that are refused soon
			pod.Exclusive = nil
			for i := range 24 {
				pod.Exclusive = append(pod.Exclusive, podspec.Container{Name: strconv.Itoa(i), Kind: podspec.App, CPUs: 6 + r.IntN(20)})
			}
			for i := range nodes {
				n := server(fmt.Sprintf("node-%06d", i))
				n.NUMA = nil
				for id := range topology.NodeID(8) {
					n.NUMA = append(n.NUMA, sched.NUMANode{ID: id, CPUs: 41, FreeCPUs: 41})
				}
				state.SetNode(n)
			}
			p := pipeline.NewProposer(state.View, pipeline.ProposerOptions{})
			for b.Loop() {
				if list := p.Propose(&pod); len(list.Candidates) > 0 {
					b.Fatal("a node suits")
				}
			}
		})
	}
}

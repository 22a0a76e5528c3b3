package fragmentation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// sample draws pods of few kinds: shares, cards, several cards, CPUs alone.
func sample(r *rand.Rand, n int) []*sched.Pod {
	var pods []*sched.Pod
	for i := range n {
		p := &sched.Pod{UID: fmt.Sprint("p", i), Requests: sched.Amounts{CPU: sched.MilliCPU(1000 * (1 + r.IntN(4))), Memory: 1, Pods: 1}}
		switch r.IntN(4) {
		case 0:
			p.GPUs = sched.GPURequest{Count: 1, Milli: []sched.MilliGPU{190, 470, 810}[r.IntN(3)]}
		case 1:
			p.GPUs = sched.GPURequest{Count: 1, Milli: 1000, Types: [][]string{nil, {"T4"}}[r.IntN(2)]}
		case 2:
			p.GPUs = sched.GPURequest{Count: 2, Milli: 1000}
		}
		pods = append(pods, p)
	}
	return pods
}

func machine(r *rand.Rand, name string) *sched.Node {
	n := &sched.Node{Name: name, Free: sched.Amounts{CPU: sched.MilliCPU(r.IntN(16000)), Memory: sched.Bytes(r.IntN(9)), Pods: 100}}
	for range r.IntN(5) {
		free := []sched.MilliGPU{0, 190, 500, 810, 1000, 1000}[r.IntN(6)]
		n.GPUs = append(n.GPUs, sched.GPU{ID: fmt.Sprint(len(n.GPUs)), Type: []string{"T4", "G2"}[r.IntN(2)], Free: free})
	}
	return n
}

// twin computes lost(n) by placing pods: FGD's measure as Workload has it, and
// nodes that are filled up one pod after the other.
func twin(w Workload, n *sched.Node) float64 {
	free, alone, sum := sched.MilliGPU(0), 1.0, w.Fragmented(n)
	for _, card := range n.GPUs {
		free += card.Free
	}
	for _, k := range w {
		if k.Pod.GPUs.Count == 0 {
			continue
		}
		alone -= k.Share
		left, full := free, n
		for at, why := filter.Place(k.Pod, full); !why.Refuses(); at, why = filter.Place(k.Pod, full) {
			full = full.Take(sched.Hold(k.Pod, at))
			left -= k.Pod.GPUs.Milli * sched.MilliGPU(k.Pod.GPUs.Count)
		}
		sum += k.Share * float64(left)
	}
	return sum - alone*float64(free)
}

func TestMeasureTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		w := Of(sample(r, 1+r.IntN(30)))
		n := machine(r, "n")
		if got, want := newMeasure(w).lost(n), twin(w, n); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%+v: lost %v, want %v", n, got, want)
		}
	}
}

// TestScorerRemembers checks that what is remembered is what a new scorer would
// say, while pods come and go, nodes change, and some hold reservations.
func TestScorerRemembers(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	w := Of(sample(r, 30))
	s := NewScorer(w)
	pods := sample(r, 600) // of more kinds than the workload has
	nodes := []*sched.Node{machine(r, "a"), machine(r, "b"), machine(r, "c")}
	for i, pod := range pods {
		n := nodes[r.IntN(len(nodes))]
		if got, want := s.Score(nil, pod, n), NewScorer(w).Score(nil, pod, n); !slices.Equal(got, want) {
			t.Fatalf("pod %d on %+v: score %v, want %v", i, n, got, want)
		}
		at, why := filter.Place(pod, n)
		h := sched.Hold(pod, at)
		j := slices.Index(nodes, n)
		switch {
		case why.Refuses():
			nodes[j] = machine(r, n.Name)
			nodes[j].Version = n.Version + 1
		case r.IntN(4) == 0:
			nodes[j] = n.Reserve(&sched.Reservation{UID: "other", Holding: h})
		default:
			nodes[j] = n.Take(h).Reserve(nil)
		}
	}
}

// TestScorerKeepsCPUs places a card with one CPU on one of two nodes: FGD's
// measure alone sees no difference, but on the one with few CPUs the other cards
// would be of no use any more.
func TestScorerKeepsCPUs(t *testing.T) {
	pod := &sched.Pod{UID: "p", Requests: sched.Amounts{CPU: 4000, Pods: 1}, GPUs: sched.GPURequest{Count: 1, Milli: 1000}}
	s := NewScorer(Of([]*sched.Pod{pod}))
	node := func(name string, cpu sched.MilliCPU) *sched.Node {
		n := &sched.Node{Name: name, Free: sched.Amounts{CPU: cpu, Pods: 9}}
		for i := range 4 {
			n.GPUs = append(n.GPUs, sched.GPU{ID: fmt.Sprint(i), Free: sched.WholeGPU})
		}
		return n
	}
	odd := &sched.Pod{UID: "q", Requests: sched.Amounts{CPU: 6000, Pods: 1}, GPUs: pod.GPUs}
	if rich, poor := s.Score(nil, odd, node("rich", 32000)), s.Score(nil, odd, node("poor", 17000)); rich[0] <= poor[0] {
		t.Errorf("rich scores %v, poor %v: want rich first", rich, poor)
	}
}

// BenchmarkScore scores 1,200 nodes, one of which has changed since the last time.
func BenchmarkScore(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	pods := sample(r, 200)
	s := NewScorer(Of(pods))
	var nodes []*sched.Node
	for i := range 1200 {
		nodes = append(nodes, machine(r, fmt.Sprint("n", i)))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := *nodes[i%len(nodes)]
		n.Version++
		nodes[i%len(nodes)] = &n
		for _, node := range nodes {
			s.Score(nil, pods[i%len(pods)], node)
		}
	}
}

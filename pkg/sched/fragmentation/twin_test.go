package fragmentation_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// randomPod returns a random pod. It requests a share of a GPU, one GPU, several GPUs, or only
// CPUs.
func randomPod(r *rand.Rand, uid string) *sched.Pod {
	pod := &sched.Pod{UID: uid, Requests: sched.Amounts{CPU: sched.MilliCPU(1000 * (1 + r.IntN(4))), Memory: 1, Pods: 1}}
	switch r.IntN(4) {
	case 0:
		pod.GPUs = sched.GPURequest{Count: 1, Milli: []sched.MilliGPU{190, 470, 810}[r.IntN(3)]}
	case 1:
		pod.GPUs = sched.GPURequest{Count: 1, Milli: 1000, Types: [][]string{nil, {"T4"}}[r.IntN(2)]}
	case 2:
		pod.GPUs = sched.GPURequest{Count: 2 + r.IntN(2), Milli: []sched.MilliGPU{300, 1000}[r.IntN(2)]}
	}
	return pod
}

func randomNode(r *rand.Rand, name string) *sched.Node {
	node := &sched.Node{Name: name, Free: sched.Amounts{CPU: sched.MilliCPU(r.IntN(16000)), Memory: sched.Bytes(r.IntN(9)), Pods: 100}}
	models := []string{"T4", "T4", "T4", "T4", "G2", "G2", "G2"}[r.IntN(4):] // GPUs of one model are next to each other, so that package filter and stock.less take the same GPUs: of GPUs with equal free capacity, package filter takes the first ones in the list, and stock.less takes those of one model after another
	for g := range r.IntN(5) {
		free := []sched.MilliGPU{-100, 0, 190, 500, 810, 1000, 1000}[r.IntN(7)]
		node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(len(node.GPUs)), Type: models[g], Free: free})
	}
	return node
}

// twinLost computes lost(n), as defined in the comment of the type `measure`, in a simple way: it
// places pods of each kind on the node until the node is full.
func twinLost(kinds []fragmentation.Typical, node *sched.Node) float64 {
	free, sum := sched.MilliGPU(0), 0.0
	for _, gpu := range node.GPUs {
		free += max(0, gpu.Free)
	}
	for _, k := range kinds {
		pod := &sched.Pod{UID: "k", Requests: k.Amounts, GPUs: k.GPURequest}
		useless, left := free, free
		if !filter.Check(pod, node).Refuses() {
			useless = 0
			for _, gpu := range node.GPUs {
				if gpu.Free < k.Milli || k.Types != nil && !slices.Contains(k.Types, gpu.Type) {
					useless += max(0, gpu.Free)
				}
			}
		}
		full := node
		for at, why := filter.Place(pod, full); !why.Refuses(); at, why = filter.Place(pod, full) {
			full = full.Take(sched.Hold(pod, at))
			left -= k.Milli * sched.MilliGPU(k.Count)
		}
		sum += k.Share * float64(useless+left)
	}
	return sum
}

// scene is a ranker and its inputs.
type scene struct {
	*fragmentation.Ranker
	r     *rand.Rand
	now   time.Time
	slots map[string]*sched.Slot
	pods  int
}

func newScene(seed uint64) *scene {
	s := &scene{r: rand.New(rand.NewPCG(seed, 1)), slots: map[string]*sched.Slot{}}
	s.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Ranker = fragmentation.New(fragmentation.Options{Now: func() time.Time { return s.now }, TimeConstant: time.Hour})
	return s
}

// set gives a new or changed record to the ranker.
func (s *scene) set(node *sched.Node) {
	slot := s.slots[node.Name]
	if slot == nil {
		slot = &sched.Slot{}
		s.slots[node.Name] = slot
	}
	slot.SetNewest(node)
	s.Set(slot, node)
}

// step makes a random change of a node or of the workload.
func (s *scene) step() {
	name := fmt.Sprint("n", s.r.IntN(12))
	s.pods++
	pod := randomPod(s.r, fmt.Sprint("p", s.pods))
	slot := s.slots[name]
	switch op := s.r.IntN(10); {
	case op == 0 && slot != nil:
		s.Remove(name)
		delete(s.slots, name)
	case op < 3 || slot == nil:
		s.set(randomNode(s.r, name))
	case op < 5:
		s.now = s.now.Add(time.Duration(s.r.IntN(600)) * time.Second)
		if pod.GPUs.Count < 2 || pod.GPUs.Milli == sched.WholeGPU { // pods with parts of several GPUs are left out, because room.slots is inexact for them
			s.See(pod)
		}
	case op == 5:
		s.SeeHeld(pod.UID, sched.Holding{Amounts: pod.Requests, GPUs: []sched.GPUShare{{ID: "0", Milli: 500}}}, 1, time.Time{})
		s.Forget(fmt.Sprint("p", s.r.IntN(s.pods)))
	case op == 6:
		s.set(slot.Newest().Reserve(&sched.Reservation{UID: []string{"mine", "other"}[s.r.IntN(2)], Holding: sched.Hold(pod, sched.Placement{GPUs: []sched.GPUShare{{ID: "0", Milli: 100}}})}))
	default:
		if at, why := filter.Place(pod, slot.Newest()); !why.Refuses() {
			s.set(slot.Newest().Take(sched.Hold(pod, at)).Reserve(nil))
		}
	}
}

// twinScore computes the score of a node for a pod in a simple way, by placing the pod on the node.
// It returns Unfit if the pod does not fit.
func twinScore(kinds []fragmentation.Typical, pod *sched.Pod, node *sched.Node) int64 {
	seen := *node.For(pod.Claim())
	seen.Reserved = nil // node.For has already subtracted what is reserved for other pods
	node = &seen
	at, why := filter.Place(pod, node)
	if why.Refuses() {
		return fragmentation.Unfit
	}
	return int64(math.Round((twinLost(kinds, node) - twinLost(kinds, node.Take(sched.Hold(pod, at)))) * 1000))
}

// The function `near` reports whether two scores are equal except for rounding errors.
func near(a, b int64) bool {
	return a == b || a != fragmentation.Unfit && b != fragmentation.Unfit && max(a-b, b-a) <= 1
}

// check compares the ranker's scores and best nodes for a pod with those that twinScore computes.
func (s *scene) check(t *testing.T, pod *sched.Pod) {
	t.Helper()
	kinds := s.Typical()
	want, scores := []int64{}, map[*sched.Slot]int64{}
	for name, slot := range s.slots {
		score := twinScore(kinds, pod, slot.Newest())
		if got := s.Score(nil, pod, slot.Newest()); !near(got[0], score) {
			t.Fatalf("score of %s is %v, want %d\n%+v\n%+v", name, got, score, pod, slot.Newest())
		}
		if scores[slot] = score; score != fragmentation.Unfit {
			want = append(want, score)
		}
	}
	slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, n := range []int{-1, 3} {
		got := s.Best(nil, pod, n)
		if n < 0 {
			n = len(want)
		}
		ok := len(got) == min(n, len(want))
		for i := 0; ok && i < len(got); i++ {
			ok = near(scores[got[i]], want[i]) && !slices.Contains(got[:i], got[i])
		}
		if !ok {
			t.Fatalf("the best %d nodes: got %d, want scores %v", n, len(got), want)
		}
	}
}

func (s *scene) run(t *testing.T, steps int) {
	for range steps {
		s.step()
		if s.r.IntN(3) == 0 {
			s.check(t, randomPod(s.r, []string{"mine", "new"}[s.r.IntN(2)]))
		}
	}
}

// TestTwin compares the ranker's results with those of twinScore while nodes and the workload
// change.
func TestTwin(t *testing.T) {
	for seed := range uint64(20) {
		newScene(seed).run(t, 600)
	}
}

func FuzzRanker(f *testing.F) {
	f.Add(uint64(1), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) { newScene(seed).run(t, int(steps)%2000) })
}

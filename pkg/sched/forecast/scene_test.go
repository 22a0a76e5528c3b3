package forecast

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// scene is the input of Predict, with equal nodes. All pods belong to tenant ann.
type scene struct {
	Present
	runs *Runs
	pods int
}

func newScene(nodes, gpus int) *scene {
	s := &scene{Present: Present{Now: now}, runs: NewRuns()}
	for i := range nodes {
		node := &sched.Node{Name: fmt.Sprint("node-", i), Allocatable: sched.Amounts{Pods: 110}, Free: sched.Amounts{Pods: 110}}
		for c := range gpus {
			node.GPUs = append(node.GPUs, sched.GPU{ID: strconv.Itoa(c), Type: "T4", Free: sched.WholeGPU})
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s
}

// random returns a state of a few nodes, with running and waiting pods. Some nodes have
// reservations.
func random(seed uint64) *scene {
	r := rand.New(rand.NewPCG(seed, 1))
	s := newScene(1+r.IntN(4), 1+r.IntN(4))
	for range r.IntN(20) {
		s.runs.Ended(Class{Tenant: "ann", GPUs: r.IntN(2)}, minutes(r.IntN(100)))
	}
	for range r.IntN(2 * s.gpus()) {
		s.run(1+r.IntN(2), r.IntN(120))
	}
	for range r.IntN(12) {
		s.ahead(1 + r.IntN(4))
	}
	if len(s.Ahead) > 0 && r.IntN(2) == 0 {
		s.node(r.IntN(len(s.Nodes))).Reserved = reserve(s.Ahead[r.IntN(len(s.Ahead))])
	}
	return s
}

func reserve(w Waiting) *sched.Reservation {
	r := &sched.Reservation{UID: w.Claim()}
	for i := range w.Pod.GPUs.Count {
		r.GPUs = append(r.GPUs, sched.GPUShare{ID: strconv.Itoa(i), Milli: w.Pod.GPUs.Milli})
	}
	return r
}

func (s *scene) node(i int) *sched.Node { return s.Nodes[i] }

func (s *scene) gpus() (n int) {
	for _, node := range s.Nodes {
		n += len(node.GPUs)
	}
	return n
}

// new returns a new pod that requests some GPUs.
func (s *scene) new(gpus int) Waiting {
	s.pods++
	uid := fmt.Sprintf("pod-%04d", s.pods)
	pod := &sched.Pod{UID: uid, Name: uid, Requests: sched.Amounts{Pods: 1}}
	if gpus > 0 {
		pod.GPUs = sched.GPURequest{Count: gpus, Milli: sched.WholeGPU}
	}
	return Waiting{ClassOf(pod, "ann"), pod}
}

// run adds a pod that has run for some minutes, unless it fits no node.
func (s *scene) run(gpus, ran int) {
	w := s.new(gpus)
	for i, node := range s.Nodes {
		at, why := filter.Place(w.Pod, node)
		if why.Refuses() {
			continue
		}
		h := sched.Hold(w.Pod, at)
		s.Nodes[i] = node.Take(h)
		s.Running = append(s.Running, Running{Class: w.Class, UID: w.UID, Node: node.Name, Holds: h, Since: now.Add(-minutes(ran))})
		return
	}
}

// ahead adds a waiting pod before the pod whose start is forecast.
func (s *scene) ahead(gpus int) { s.Ahead = append(s.Ahead, s.new(gpus)) }

func (s *scene) crowd(n int) {
	for range n {
		s.ahead(1)
	}
}

// pod sets the pod whose start is forecast.
func (s *scene) pod(gpus int) { s.Pod = s.new(gpus) }

package fragmentation

import (
	"sync"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Scorer scores nodes by how little of their free GPU capacity a pod would make useless to
// a workload. It is safe for concurrent use.
//
// It caches scores by kind of pod and version of node, in O(kinds · nodes) memory, because a
// placement changes only one node.
type Scorer struct {
	measure measure

	mu struct {
		sync.Mutex
		lost   map[string]known             // by node
		scores map[kindKey]map[string]known // by kind of pod and node
	}
}

// known is a cached value for one version of a node.
type known struct {
	version sched.Version
	value   float64
}

// mostKinds is the limit of cached kinds of pods. The cache is cleared when it is reached.
const mostKinds = 512

// NewScorer returns a scorer for a workload.
func NewScorer(w Workload) *Scorer {
	s := &Scorer{measure: newMeasure(w)}
	s.forget()
	return s
}

func (s *Scorer) forget() {
	s.mu.lost, s.mu.scores = map[string]known{}, map[kindKey]map[string]known{}
}

// Score is the sched.Scorer: lost(n) now minus lost(n) with the pod on the node, in
// millionths of a GPU. A pod that does not fit makes all free capacity useless.
func (s *Scorer) Score(to []int64, pod *sched.Pod, node *sched.Node) []int64 {
	return append(to, int64(s.score(pod, node)*1000))
}

func (s *Scorer) score(pod *sched.Pod, node *sched.Node) float64 {
	if node.Reserved != nil || pod.Exclusive != nil || pod.Requests.Extended != nil {
		return s.gain(pod, node.For(pod.Claim()), s.measure.lost(node.For(pod.Claim())))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	scores := s.scores(key(pod))
	k, found := scores[node.Name]
	if !found || k.version != node.Version {
		k = known{node.Version, s.gain(pod, node, s.lost(node))}
		scores[node.Name] = k
	}
	return k.value
}

// scores returns the cached scores of a kind of pod. The caller holds mu.
func (s *Scorer) scores(k kindKey) map[string]known {
	if s.mu.scores[k] == nil {
		if len(s.mu.scores) >= mostKinds {
			s.forget()
		}
		s.mu.scores[k] = map[string]known{}
	}
	return s.mu.scores[k]
}

// lost returns lost(n). The caller holds mu.
func (s *Scorer) lost(node *sched.Node) float64 {
	k, found := s.mu.lost[node.Name]
	if !found || k.version != node.Version {
		k = known{node.Version, s.measure.lost(node)}
		s.mu.lost[node.Name] = k
	}
	return k.value
}

// gain returns lost(n) minus lost(n) with the pod on the node.
func (s *Scorer) gain(pod *sched.Pod, node *sched.Node, before float64) float64 {
	at, why := filter.Place(pod, node)
	if why.Refuses() {
		return before - 2*float64(sched.WholeGPU)*float64(len(node.GPUs))
	}
	return before - s.measure.lost(node.Take(sched.Hold(pod, at)))
}

package fragmentation

import "github.com/numalet/numalet/pkg/sched"

// Typical is a kind of pods in the measured workload (the workload with which the Ranker computes
// scores), and the kind's share of the pods.
type Typical struct {
	sched.Amounts
	sched.GPURequest
	Share float64
}

// Typical returns the kinds of pods in the workload with which the Ranker computes scores.
func (r *Ranker) Typical() []Typical {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Typical
	for _, w := range r.mu.typical {
		all = append(all, Typical{
			sched.Amounts{CPU: w.cpu, Memory: w.memory, Pods: 1},
			sched.GPURequest{Count: w.count, Milli: w.milli, Types: w.types}, w.share,
		})
	}
	return all
}

// Size returns the length of the ranker's list of nodes, and the number of known names of nodes.
func (r *Ranker) Size() (nodes, names int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.nodes), len(r.mu.index)
}

// Unfit is the score of a node that a pod does not fit.
const Unfit = unfit

// Package fragmentation measures how much free GPU capacity is useless to a workload, and
// scores nodes by how little useless capacity a placement adds.
//
// The measure is that of FGD (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023):
//
//	F(n) = Σ p(m) · f(n, m)  over the kinds m of pods, p(m) their share
//	f(n, m) = the free capacity of all GPUs of n                 if m does not fit n, or requests no GPU
//	          the free capacity of the GPUs that m cannot use    otherwise
package fragmentation

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// measure computes how much of a node's free GPUs is lost, in one pass over the kinds of
// pods that request GPUs. Other pods are ignored: to them all GPUs are useless on every
// node.
//
//	lost(n) = Σ p(m) · ( f(n, m) + s(n, m) )
//	s(n, m) = the capacity that stays free if n is filled up with pods of kind m only
//
// f is the measure of FGD. It only considers whether one more pod fits, so it does not
// change until the last CPU of a node is used. s also considers that the CPUs can be used
// up before the GPUs. With the pods of openb's trace in their order, f alone allocates
// 93.6 % of the GPUs, and both together 95.4 %.
type measure []want

// want is one kind of pod.
type want struct {
	sched.GPURequest
	share  float64
	cpu    sched.MilliCPU
	memory sched.Bytes
}

// newMeasure sorts the kinds by descending amount per GPU, so that values which depend only
// on that amount are computed once.
func newMeasure(w Workload) measure {
	var m measure
	for _, k := range w {
		if ask := k.Pod.GPUs; ask.Count > 0 && ask.Milli > 0 {
			m = append(m, want{ask, k.Share, k.Pod.Requests.CPU, k.Pod.Requests.Memory})
		}
	}
	slices.SortStableFunc(m, func(a, b want) int { return cmp.Compare(b.Milli, a.Milli) })
	return m
}

// lost returns lost(n), in thousandths of a GPU. O(kinds + amounts · GPUs).
func (m measure) lost(n *sched.Node) float64 {
	free := freeOf(n)
	if free == 0 {
		return 0
	}
	sum, cards := 0.0, room{}
	for i := range m {
		w := &m[i]
		if i == 0 || w.Milli != m[i-1].Milli || w.Types != nil || m[i-1].Types != nil {
			cards = w.room(n)
		}
		sum += w.share * float64(w.useless(n, cards, free)+free-w.used(n, cards))
	}
	return sum
}

// room is the GPU capacity of a node for one kind of pod.
type room struct {
	able  int            // GPUs with enough free capacity
	slots int            // requested amounts that fit the GPUs
	small sched.MilliGPU // free capacity of the other GPUs
}

func (w *want) room(n *sched.Node) (r room) {
	for _, card := range n.GPUs {
		if !usable(w.GPURequest, card) {
			r.small += max(0, card.Free)
			continue
		}
		r.able++
		r.slots += int(card.Free / w.Milli)
	}
	return r
}

// useless returns f(n, m).
func (w *want) useless(n *sched.Node, r room, free sched.MilliGPU) sched.MilliGPU {
	if r.able < w.Count || n.Free.CPU < w.cpu || n.Free.Memory < w.memory {
		return free
	}
	return r.small
}

// used returns the capacity in use if the node is filled up with pods of the kind.
func (w *want) used(n *sched.Node, r room) sched.MilliGPU {
	pods := r.slots / w.Count
	if need := w.cpu * sched.MilliCPU(pods); need > n.Free.CPU {
		pods = int(max(0, n.Free.CPU) / w.cpu)
	}
	if need := w.memory * sched.Bytes(pods); need > n.Free.Memory {
		pods = int(max(0, n.Free.Memory) / w.memory)
	}
	return sched.MilliGPU(pods*w.Count) * w.Milli
}

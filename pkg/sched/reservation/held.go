package reservation

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// charge calls Options.Held if the free resources that a reservation keeps from other pods have
// changed since the last call of Options.Held for this reservation.
func (rs *Reservations) charge(r *reservation) {
	held := map[fairshare.Type]fairshare.Milli{}
	for _, o := range r.plan {
		if node := rs.state.Record(o.Node); node != nil {
			for _, c := range kept(o.Holding, node) {
				held[c.Type] += c.Amount
			}
		}
	}
	var charges []fairshare.Charge
	for t, amount := range held {
		charges = append(charges, fairshare.Charge{Type: t, Amount: amount})
	}
	slices.SortFunc(charges, func(a, b fairshare.Charge) int { return cmp.Compare(a.Type, b.Type) })
	if !slices.Equal(charges, r.held) {
		r.held = charges
		rs.options.Held(r.pod, charges)
	}
}

// kept returns what a reservation keeps from other pods on a node: the part of the reserved
// resources that no pod holds. The part that another pod still holds is charged to that other pod's
// tenant.
//
// The result has only types for which the whole reservation would be charged. If GPUs are reserved
// and none of them is free, the variable `free` has no GPUs, so fairshare.Charges may return a
// charge for CPUs. This charge is dropped, because the whole reservation would not be charged for
// CPUs.
func kept(holding sched.Holding, node *sched.Node) []fairshare.Charge {
	free := sched.Holding{Amounts: sched.Amounts{CPU: max(0, min(holding.CPU, node.Free.CPU))}}
	parts := map[string]int64{}
	for name, n := range holding.Extended.All() {
		parts[name] = max(0, min(n, node.Free.Extended.Of(name)))
	}
	free.Extended = sched.ExtendedOf(parts)
	for _, share := range holding.GPUs {
		i := slices.IndexFunc(node.GPUs, func(g sched.GPU) bool { return g.ID == share.ID })
		if i >= 0 && node.GPUs[i].Free > 0 {
			free.GPUs = append(free.GPUs, sched.GPUShare{ID: share.ID, Milli: min(share.Milli, node.GPUs[i].Free)})
		}
	}
	whole := fairshare.Charges(holding, node)
	return slices.DeleteFunc(fairshare.Charges(free, node), func(c fairshare.Charge) bool {
		return !slices.ContainsFunc(whole, func(w fairshare.Charge) bool { return w.Type == c.Type })
	})
}

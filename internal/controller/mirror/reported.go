package mirror

import (
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/topology"
)

// report is what a pod holds according to the agent's report.
type report struct {
	namespace, name string
	shares          []sched.NUMAShare // of exclusive CPUs
	devices         []string          // IDs of GPUs, slices and shares
}

// reports returns what pods hold according to the agent's report, by their UID on the node. A list
// of CPUs that cannot be parsed counts as empty.
func reports(topology *v1alpha1.NodeTopology) map[string]report {
	all := map[string]report{}
	if topology == nil {
		return all
	}
	for _, pod := range topology.Status.Pods {
		held := cpuset.Set{}
		for _, container := range pod.Containers {
			if cpus, err := cpuset.Parse(container.CPUs); err == nil {
				held = held.Union(cpus)
			}
		}
		all[pod.UID] = report{namespace: pod.Namespace, name: pod.Name, shares: share(held, topology.Status.NUMA)}
	}
	for _, holder := range topology.Status.GPUHolders {
		r := all[holder.UID]
		r.namespace, r.name, r.devices = holder.Namespace, holder.Name, holder.Devices
		all[holder.UID] = r
	}
	return all
}

func share(held cpuset.Set, nodes []v1alpha1.NUMANode) []sched.NUMAShare {
	var on []sched.NUMAShare
	for _, node := range nodes {
		cpus, err := cpuset.Parse(node.CPUs)
		if err != nil {
			continue
		}
		if here := held.Intersect(cpus).Len(); here > 0 {
			on = append(on, sched.NUMAShare{ID: topology.NodeID(node.ID), CPUs: here})
		}
	}
	return on
}

// reported is a bound pod that the controller did not place. The agent of its node knows more about
// it than the pod itself says: which exclusive CPUs or GPUs it has.
type reported struct {
	namespace, name string
	onNode          string // UID on the node as its annotation says, which differs for mirror pods
	cpus            bool   // only the agent knows its exclusive CPUs
	nodestate.Assignment
}

// in returns what is reported for the pod, and the UID under which it is reported. A report about
// another pod does not count, because anybody can set the annotation that names the pod's UID on
// the node.
func (p reported) in(reports map[string]report) (r report, uid string) {
	for _, uid := range []string{p.UID, p.onNode} {
		if r, known := reports[uid]; known && r.namespace == p.namespace && r.name == p.name {
			return r, uid
		}
	}
	return report{}, ""
}

// holding returns what a pod holds according to its placement and the agent's report. The GPUs of
// a placement count as long as the pod exists, because the pod fails without them.
func (n *node) holding(pod reported) sched.Holding {
	h := pod.Holding
	r, _ := pod.in(n.reports)
	if pod.cpus && len(r.shares) > 0 {
		h.NUMA = withMemory(r.shares, h.NUMA)
	}
	if len(h.GPUs) > 0 || pod.WholeGPUs == 0 {
		return h
	}
	for _, gpu := range whole(n.topology) {
		if slices.Contains(r.devices, gpu.ID) {
			h.GPUs = append(h.GPUs, sched.GPUShare{ID: gpu.ID, Milli: sched.WholeGPU})
		}
	}
	return h
}

// withMemory returns reported CPUs by NUMA node with the memory that the placement has there,
// which agents do not report.
func withMemory(shares, placed []sched.NUMAShare) []sched.NUMAShare {
	shares = slices.Clone(shares)
	for i, s := range shares {
		for _, p := range placed {
			if p.ID == s.ID {
				shares[i].Memory = p.Memory
			}
		}
	}
	return shares
}

// deduct subtracts from a node's GPUs what pods hold without an assignment that names it. These
// are shares, and GPUs of pods that the API server does not have, that have ended according to the
// API server, or that were placed with other GPUs. gpus is the resource of whole GPUs.
func (n *node) deduct(base *sched.Node, gpus string) {
	assigned := map[string][]sched.GPUShare{} // by UID on the node
	for _, pod := range n.reported {
		_, uid := pod.in(n.reports)
		assigned[uid] = n.holding(pod).GPUs
	}
	part := base.Parts[gpus+sharedSuffix].Milli
	for uid, r := range n.reports {
		for _, id := range r.devices {
			gpu := slices.IndexFunc(base.GPUs, func(g sched.GPU) bool { return g.ID == v1alpha1.GPUOf(id) })
			switch {
			case gpu < 0: // a slice, or a GPU that the agent does not list
			case base.GPUs[gpu].ID != id && part > 0:
				base.GPUs[gpu].Free = max(0, base.GPUs[gpu].Free-part)
			case !slices.ContainsFunc(assigned[uid], func(s sched.GPUShare) bool { return s.ID == id }):
				base.GPUs[gpu].Free = 0
			}
		}
	}
}

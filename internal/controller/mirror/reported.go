package mirror

import (
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/topology"
)

// report is what a pod holds according to the agent of its node.
type report struct {
	namespace, name string
	shares          []sched.NUMAShare // number of exclusive CPUs on each NUMA node
	devices         []string          // IDs of whole GPUs, MIG slices and GPU shares
}

// reports returns what pods hold according to the agent of their node, by the UID that the kubelet
// uses for the pod. A list of CPUs that cannot be parsed counts as empty.
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

// reported is a bound pod for which the report of its node's agent matters. Such a pod holds GPUs,
// or it holds exclusive CPUs and its own fields do not tell exactly which.
type reported struct {
	namespace, name string
	onNode          string // the UID that the kubelet uses, according to an annotation; it differs from the pod's UID only for mirror pods
	cpus            bool   // the pod's own fields may not tell on which NUMA nodes its exclusive CPUs are; if the agent's report tells it, the report counts
	nodestate.Assignment
}

// The method `in` looks up the report about the pod. It returns the report, and the UID under which
// the report is stored. The report must have the pod's namespace and name. Otherwise somebody could
// write the UID of another pod into the annotation (see the field onNode), and so claim the report
// about the other pod.
func (p reported) in(reports map[string]report) (r report, uid string) {
	for _, uid := range []string{p.UID, p.onNode} {
		if r, known := reports[uid]; known && r.namespace == p.namespace && r.name == p.name {
			return r, uid
		}
	}
	return report{}, ""
}

// holding returns what a pod holds according to its placement and the report of the node's agent.
// If the placement names GPUs, these count even if they are not in the report: the pod holds them,
// or it fails to start.
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

// withMemory returns what a pod holds on each NUMA node: the CPUs that the agent reports (shares),
// with the memory according to the pod's placement (placed). Agents do not report memory.
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

// deduct subtracts from the record of a node without pods what pods hold according to the agent's
// report, but what no assignment in the state names. The GPUs of shares are such, because the
// kubelet chooses the GPU of a share. So is all that a pod without a matching assignment holds. Such
// a pod does not exist at the API server, has ended according to the API server, or was placed with
// other GPUs. The parameter `gpus` is the name of the resource that counts whole GPUs.
func (n *node) deduct(base *sched.Node, gpus string) {
	assigned := map[string][]sched.GPUShare{} // by the UID under which the agent reports the pod
	for _, pod := range n.reported {
		_, uid := pod.in(n.reports)
		assigned[uid] = n.holding(pod).GPUs
	}
	part := base.Parts[gpus+sharedSuffix].Milli
	parts := map[string]int64{} // number of parts that pods without an assignment hold, by resource
	for uid, r := range n.reports {
		whole, known := assigned[uid]
		for _, id := range r.devices {
			gpu := slices.IndexFunc(base.GPUs, func(g sched.GPU) bool { return g.ID == v1alpha1.GPUOf(id) })
			switch {
			case gpu < 0: // a MIG slice, or a GPU that the agent does not list
			case base.GPUs[gpu].ID != id && part > 0:
				base.GPUs[gpu].Free = max(0, base.GPUs[gpu].Free-part)
			case !slices.ContainsFunc(whole, func(s sched.GPUShare) bool { return s.ID == id }):
				base.GPUs[gpu].Free = 0
			}
			if known {
				continue
			}
			if resource := resourceOf(id, n.topology, base.Parts, gpus); resource != "" {
				parts[resource]++
			}
		}
	}
	if len(parts) > 0 {
		base.Allocatable = base.Allocatable.Minus(sched.Amounts{Extended: sched.ExtendedOf(parts)})
	}
}

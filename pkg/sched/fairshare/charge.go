package fairshare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// Type is a type of resource that pods wait for or use, such as "cpu" or a model of GPU, in the
// format of sched.Pod.ResourceType. A tenant has one account for each type that it uses.
type Type string

const (
	CPU    Type = sched.TypeCPU
	AnyGPU Type = sched.TypeAnyGPU
)

// Milli is an amount in thousandths of a core or a GPU.
type Milli int64

// maxCharge is the most that one pod is charged for one type: about 10⁹ cores or GPUs. With this
// limit, the sum of the charges of millions of pods does not overflow. To limit the sum instead was
// rejected: the limit could cut the sum, and when a pod ended, its whole amount would be subtracted
// from a sum that did not include all of it.
const maxCharge Milli = 1 << 40

// Charge is an amount of one type that a pod holds and is charged for.
type Charge struct {
	Type   Type
	Amount Milli
}

// Charges returns the charges for a pod on a node, sorted by type. It leaves out amounts of 0. A
// pod is charged for
//
//   - its GPUs, each under its type; if the pod uses a GPU together with other pods, it is charged
//     for the fraction that it requested,
//   - its parts of GPUs (shared GPUs and MIG devices that are extended resources), each under its
//     type,
//   - its CPU cores, only if it has neither GPUs nor parts of GPUs.
func Charges(holding sched.Holding, node *sched.Node) []Charge {
	charges := addParts(gpusOf(holding, node), holding, node)
	if len(charges) == 0 && holding.CPU > 0 {
		charges = []Charge{{CPU, min(Milli(holding.CPU), maxCharge)}}
	}
	return sorted(charges)
}

func sorted(charges []Charge) []Charge {
	slices.SortFunc(charges, func(a, b Charge) int { return cmp.Compare(a.Type, b.Type) })
	return charges
}

// ChargeUnnamed returns the charges for a pod that holds n > 0 whole GPUs, if it is unknown which
// GPUs of the node these are. All GPUs of such a node must have the same type. The result also has
// the charges for the parts of GPUs that the pod holds.
//
// If the node is not known yet, `node` must be nil. The result then has no separate charges for parts
// of GPUs, but only one for n GPUs of the type AnyGPU. So in this case, n must also count each part
// as a GPU.
func ChargeUnnamed(n int64, holding sched.Holding, node *sched.Node) []Charge {
	kind := AnyGPU
	if node != nil && len(node.GPUs) > 0 {
		kind = cmp.Or(Type(node.GPUs[0].Type), AnyGPU)
	}
	charges := []Charge{{Type: kind, Amount: times(n, sched.WholeGPU)}}
	if node == nil {
		return charges
	}
	return sorted(addParts(charges, holding, node))
}

// gpusOf returns the charges for those GPUs of a pod whose IDs are known (holding.GPUs).
func gpusOf(holding sched.Holding, node *sched.Node) (charges []Charge) {
	for _, share := range holding.GPUs {
		kind := AnyGPU
		if i := slices.IndexFunc(node.GPUs, func(g sched.GPU) bool { return g.ID == share.ID }); i >= 0 {
			kind = cmp.Or(Type(node.GPUs[i].Type), AnyGPU)
		}
		charges = add(charges, kind, Milli(share.Milli))
	}
	return charges
}

// addParts adds the charges for the parts of GPUs that a pod holds. Such parts (shared GPUs and MIG
// devices) are extended resources in Kubernetes.
func addParts(charges []Charge, holding sched.Holding, node *sched.Node) []Charge {
	for resource, part := range node.Parts {
		if n := holding.Extended.Of(resource); n > 0 {
			charges = add(charges, Type(part.Type), times(n, part.Milli))
		}
	}
	return charges
}

// times returns the amount for n GPUs, or n parts of GPUs, of the same size.
func times(n int64, size sched.MilliGPU) Milli {
	return min(min(Milli(n), maxCharge)*Milli(size), maxCharge)
}

// add adds an amount to the charge for a type, and returns the changed charges. The charges are a
// slice and not a map, because a pod has few charges, and a search in a short slice is faster.
func add(charges []Charge, t Type, amount Milli) []Charge {
	i := slices.IndexFunc(charges, func(c Charge) bool { return c.Type == t })
	if i < 0 {
		return append(charges, Charge{t, amount})
	}
	charges[i].Amount += amount
	return charges
}

// Overlaps reports whether pods that wait for the type t compete for the same resources with pods
// that wait for the type u.
func (t Type) Overlaps(u Type) bool {
	if t == AnyGPU || u == AnyGPU {
		return t == u || t.isWhole() && u.isWhole()
	}
	return slices.ContainsFunc(t.alternatives(), u.Counts) || slices.ContainsFunc(u.alternatives(), t.Counts)
}

// And returns the type that a gang waits for if some of its pods wait for t and others for u. If
// one type is CPU and the other one is a type of GPU, it returns the type of GPU, because GPUs are
// scarcer. For two GPU models, it returns a type that overlaps both, because the gang competes with
// all pods that need either model.
func (t Type) And(u Type) Type {
	switch {
	case t == u || u == CPU:
		return t
	case t == CPU:
		return u
	case t == AnyGPU && u.isWhole() || u == AnyGPU && t.isWhole():
		return AnyGPU
	}
	names := slices.Sorted(slices.Values(slices.Concat(strings.Split(string(t), "|"), strings.Split(string(u), "|"))))
	return Type(strings.Join(slices.Compact(names), "|"))
}

// alternatives returns the types that are separated by "|" in t. For example, a pod that waits for
// "T4|V100" accepts either of the types "T4" and "V100".
func (t Type) alternatives() (all []Type) {
	for name := range strings.SplitSeq(string(t), "|") {
		all = append(all, Type(name))
	}
	return all
}

// isWhole reports whether t is a type of whole GPUs, and not of CPUs or parts of GPUs.
func (t Type) isWhole() bool {
	part := func(u Type) bool {
		name := "-" + string(u)
		return strings.HasSuffix(name, "-SHARED") || strings.Contains(name, "-MIG-")
	}
	return t != CPU && !slices.ContainsFunc(t.alternatives(), part)
}

// Counts reports whether a tenant's score for one type (the parameter `used`) counts in the
// rank of the tenant's pods that wait for the type t (Book.Rank).
func (t Type) Counts(used Type) bool {
	switch t {
	case used:
		return true
	case AnyGPU:
		return used != CPU
	}
	if t == "SHARED" || strings.HasPrefix(string(t), "MIG-") { // parts of any model
		return strings.HasSuffix(string(used), "-"+string(t))
	}
	return slices.Contains(strings.Split(string(t), "|"), string(used))
}

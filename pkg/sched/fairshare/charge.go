package fairshare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// Type is a type of resource whose use is counted by itself: CPU, or a model and
// form of GPU by its name.
type Type string

// Types that are not a model of GPU.
const (
	CPU    Type = "cpu"
	AnyGPU Type = "gpu" // whichever; used, one whose model is not known
)

// Milli is an amount in thousandths of a core or a card.
type Milli int64

// Charge is how much of one type is held.
type Charge struct {
	Type   Type
	Amount Milli
}

// Charges returns what a pod on a node is charged for: its cards where it has any,
// each under its type and a share of one as a fraction, otherwise its parts of cards,
// otherwise its cores. They are by type, and each is more than 0.
func Charges(h sched.Holding, node *sched.Node) []Charge {
	var charges []Charge
	switch parts := partsOf(h, node); {
	case len(h.GPUs) > 0:
		charges = cardsOf(h, node)
	case len(parts) > 0:
		charges = parts
	case h.CPU > 0:
		charges = []Charge{{CPU, Milli(h.CPU)}}
	}
	slices.SortFunc(charges, func(a, b Charge) int { return cmp.Compare(a.Type, b.Type) })
	return charges
}

// ChargeUnnamed returns what a pod on a node is charged for whose n whole cards nobody
// tells apart: a node has such cards of one type only, or of one that is not known. It
// is so of a nil node, too, which nobody knows yet. n is more than 0.
func ChargeUnnamed(n int64, node *sched.Node) []Charge {
	kind := AnyGPU
	if node != nil && len(node.GPUs) > 0 {
		kind = cmp.Or(Type(node.GPUs[0].Type), AnyGPU)
	}
	return []Charge{{Type: kind, Amount: Milli(n) * Milli(sched.WholeGPU)}}
}

func cardsOf(h sched.Holding, node *sched.Node) (charges []Charge) {
	for _, share := range h.GPUs {
		kind := AnyGPU
		if i := slices.IndexFunc(node.GPUs, func(g sched.GPU) bool { return g.ID == share.ID }); i >= 0 {
			kind = cmp.Or(Type(node.GPUs[i].Type), AnyGPU)
		}
		charges = add(charges, kind, Milli(share.Milli))
	}
	return charges
}

func partsOf(h sched.Holding, node *sched.Node) (charges []Charge) {
	for resource, part := range node.Parts {
		if n := h.Extended.Of(resource); n > 0 {
			charges = add(charges, Type(part.Type), Milli(n)*Milli(part.Milli))
		}
	}
	return charges
}

// add adds to what is charged for a type. A pod has so few that a map of them costs
// more than it saves.
func add(charges []Charge, t Type, amount Milli) []Charge {
	i := slices.IndexFunc(charges, func(c Charge) bool { return c.Type == t })
	if i < 0 {
		return append(charges, Charge{t, amount})
	}
	charges[i].Amount += amount
	return charges
}

// TypeOf returns what type of resource a pod waits for: CPU, the one model of GPU
// that it allows, several as "A|B" in alphabetical order, or AnyGPU; of parts of cards
// the models' parts, or where it allows all models the kind of part.
func TypeOf(pod *sched.Pod) Type {
	part := pod.GPUs.Part
	switch {
	case pod.GPUs.Count == 0 && part.Count == 0:
		return CPU
	case pod.GPUs.Count == 0 && len(pod.GPUs.Types) == 0:
		return Type(part.Kind)
	case len(pod.GPUs.Types) == 0:
		return AnyGPU
	}
	models := slices.Sorted(slices.Values(pod.GPUs.Types))
	if pod.GPUs.Count == 0 {
		for i := range models {
			models[i] += "-" + part.Kind
		}
	}
	return Type(strings.Join(slices.Compact(models), "|"))
}

// Counts reports whether what is used of a type counts for who waits for t.
func (t Type) Counts(used Type) bool {
	switch t {
	case used:
		return true
	case AnyGPU:
		return used != CPU
	}
	if t == "SHARED" || strings.HasPrefix(string(t), "MIG-") { // of whichever model
		return strings.HasSuffix(string(used), "-"+string(t))
	}
	return slices.Contains(strings.Split(string(t), "|"), string(used))
}

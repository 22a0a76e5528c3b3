package usage

import (
	"cmp"
	"maps"
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
	sums := map[Type]Milli{}
	switch parts := partsOf(h, node); {
	case len(h.GPUs) > 0:
		sums = cardsOf(h, node)
	case len(parts) > 0:
		sums = parts
	case h.CPU > 0:
		sums[CPU] = Milli(h.CPU)
	}
	var charges []Charge
	for _, t := range slices.Sorted(maps.Keys(sums)) {
		charges = append(charges, Charge{t, sums[t]})
	}
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

func cardsOf(h sched.Holding, node *sched.Node) map[Type]Milli {
	models, sums := map[string]Type{}, map[Type]Milli{}
	for _, card := range node.GPUs {
		models[card.ID] = Type(card.Type)
	}
	for _, share := range h.GPUs {
		sums[cmp.Or(models[share.ID], AnyGPU)] += Milli(share.Milli)
	}
	return sums
}

func partsOf(h sched.Holding, node *sched.Node) map[Type]Milli {
	sums := map[Type]Milli{}
	for resource, part := range node.Parts {
		if n := h.Extended[resource]; n > 0 {
			sums[Type(part.Type)] += Milli(n) * Milli(part.Milli)
		}
	}
	return sums
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

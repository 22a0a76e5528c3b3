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
// each under its type and a share of one as a fraction, otherwise its cores. They
// are by type, and each is more than 0.
func Charges(h sched.Holding, node *sched.Node) []Charge {
	if len(h.GPUs) == 0 {
		if h.CPU <= 0 {
			return nil
		}
		return []Charge{{CPU, Milli(h.CPU)}}
	}
	models := map[string]Type{}
	for _, card := range node.GPUs {
		models[card.ID] = Type(card.Type)
	}
	sums := map[Type]Milli{}
	for _, share := range h.GPUs {
		sums[cmp.Or(models[share.ID], AnyGPU)] += Milli(share.Milli)
	}
	var charges []Charge
	for _, t := range slices.Sorted(maps.Keys(sums)) {
		charges = append(charges, Charge{t, sums[t]})
	}
	return charges
}

// TypeOf returns what type of resource a pod waits for: CPU, the one model of GPU
// that it allows, several as "A|B" in alphabetical order, or AnyGPU.
func TypeOf(pod *sched.Pod) Type {
	switch {
	case pod.GPUs.Count == 0:
		return CPU
	case len(pod.GPUs.Types) == 0:
		return AnyGPU
	}
	return Type(strings.Join(slices.Compact(slices.Sorted(slices.Values(pod.GPUs.Types))), "|"))
}

// Counts reports whether what is used of a type counts for who waits for t.
func (t Type) Counts(used Type) bool {
	switch t {
	case used:
		return true
	case AnyGPU:
		return used != CPU
	}
	return slices.Contains(strings.Split(string(t), "|"), string(used))
}

package sched

import "maps"

// Amounts are the resources that a node counts as plain numbers.
type Amounts struct {
	CPU    MilliCPU
	Memory Bytes
	Pods   int
	// Extended counts every other resource by its full name, such as
	// "ephemeral-storage". It may be shared between values: it is never changed.
	Extended map[string]int64
}

// Plus returns the sum. It shares a's map where b has none.
func (a Amounts) Plus(b Amounts) Amounts { return a.add(b, 1) }

// Minus returns the difference, which may be negative: others may have given
// away more than there is. It shares a's map where b has none.
func (a Amounts) Minus(b Amounts) Amounts { return a.add(b, -1) }

func (a Amounts) add(b Amounts, sign int64) Amounts {
	a.CPU += b.CPU * MilliCPU(sign)
	a.Memory += b.Memory * Bytes(sign)
	a.Pods += b.Pods * int(sign)
	if len(b.Extended) == 0 {
		return a
	}
	a.Extended = maps.Clone(a.Extended)
	if a.Extended == nil {
		a.Extended = make(map[string]int64, len(b.Extended))
	}
	for name, amount := range b.Extended {
		a.Extended[name] += sign * amount
	}
	return a
}

package sched

// Amounts are the resources that a node counts as plain numbers.
type Amounts struct {
	CPU    MilliCPU
	Memory Bytes
	Pods   int
	// Extended counts every other resource by its full name, such as
	// "ephemeral-storage".
	Extended Extended
}

// Plus returns the sum. It shares a's Extended where b has none.
func (a Amounts) Plus(b Amounts) Amounts { return a.add(b, 1) }

// Minus returns the difference. It may be negative, because other schedulers may
// have overcommitted the node. It shares a's Extended where b has none.
func (a Amounts) Minus(b Amounts) Amounts { return a.add(b, -1) }

func (a Amounts) add(b Amounts, sign int64) Amounts {
	a.CPU += b.CPU * MilliCPU(sign)
	a.Memory += b.Memory * Bytes(sign)
	a.Pods += b.Pods * int(sign)
	a.Extended = a.Extended.plus(b.Extended, sign)
	return a
}

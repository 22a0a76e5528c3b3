package sched

import "math"

// Amounts are quantities of resources. They are counted for a whole node, not for a NUMA node or a
// GPU.
type Amounts struct {
	CPU    MilliCPU
	Memory Bytes
	Pods   int
	// Extended has the amounts of all resources except CPU, memory and pods. It identifies each
	// resource by its full name, such as "ephemeral-storage".
	Extended Extended
}

// Plus returns a + b. If a sum does not fit an int64, it becomes the nearest int64. It must not
// wrap around: a large shortage of a resource (a negative amount) would become a large free amount.
// The controller counts at most 2^50 units of a resource for a pod or a node, so the sum of 8,191
// amounts is below 2^63 and cannot overflow. If b has no Extended, the result shares the Extended
// of a, which is safe because an Extended is never changed.
func (a Amounts) Plus(b Amounts) Amounts { return a.add(b, 1) }

// Minus returns a − b. The result may be negative, because other schedulers may have overcommitted
// the node. If b has no Extended, the result shares the Extended of a.
func (a Amounts) Minus(b Amounts) Amounts { return a.add(b, -1) }

func (a Amounts) add(b Amounts, sign int64) Amounts {
	a.CPU = sum(a.CPU, b.CPU, sign)
	a.Memory = sum(a.Memory, b.Memory, sign)
	a.Pods = sum(a.Pods, b.Pods, sign)
	a.Extended = a.Extended.plus(b.Extended, sign)
	return a
}

// sum returns a + sign·b, or the nearest int64 if the result does not fit an int64. The argument
// `sign` must be 1 or -1.
func sum[T ~int | ~int64](a, b T, sign int64) T {
	x, y := int64(a), sign*int64(b)
	switch total := x + y; {
	case x > 0 && y > 0 && total < 0:
		return T(int64(math.MaxInt64))
	case x < 0 && y < 0 && total >= 0:
		return T(int64(math.MinInt64))
	default:
		return T(total)
	}
}

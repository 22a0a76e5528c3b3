package distbucket

import (
	"errors"
	"fmt"
	"slices"
)

// Vector holds one amount per dimension, in the order of Config.Theta and in the caller's units. Free
// resources and requests are vectors; coordinates are not.
type Vector []int64

// Covers reports whether v is at least request in every dimension.
func (v Vector) Covers(request Vector) bool {
	for d, want := range request {
		if v[d] < want {
			return false
		}
	}
	return true
}

// minus returns max(v − amounts, 0) in every dimension.
func (v Vector) minus(amounts Vector) Vector {
	left := make(Vector, len(v))
	for d := range v {
		left[d] = max(v[d]-amounts[d], 0)
	}
	return left
}

// Config is set by the administrator and holds for the life of an index.
//
// A coarse θ makes buckets large: nodes that are alike up to θ count as equal, and names decide among
// them. A fine θ ranks nodes exactly. The index takes the same memory for every θ.
type Config struct {
	Theta Vector // granularity of each dimension, at least 1; its length is the number of dimensions
	Order []int  // the dimension that each level of the tree fixes; nil means 0, 1, 2, …
}

// space maps vectors to coordinates. It is immutable and safe for concurrent use.
type space struct {
	theta Vector
	order []int
}

// newSpace returns the space of a valid configuration.
func newSpace(config Config) (space, error) {
	if len(config.Theta) == 0 {
		return space{}, errors.New("index without a dimension: give a granularity for each")
	}
	for d, theta := range config.Theta {
		if theta < 1 {
			return space{}, fmt.Errorf("granularity of dimension %d is %d: give at least 1", d, theta)
		}
	}
	order := slices.Clone(config.Order)
	if order == nil {
		order = natural(len(config.Theta))
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, natural(len(config.Theta))) {
		return space{}, fmt.Errorf("order of dimensions %v: name each of 0 to %d once", order, len(config.Theta)-1)
	}
	return space{theta: slices.Clone(config.Theta), order: order}, nil
}

// natural returns 0, 1, …, n-1.
func natural(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// dims returns the number of dimensions.
func (s space) dims() int { return len(s.theta) }

// check returns an error unless the vector has an amount for each dimension.
func (s space) check(vector Vector) error {
	if len(vector) != s.dims() {
		return fmt.Errorf("%d amounts for %d dimensions", len(vector), s.dims())
	}
	return nil
}

// coordinateInto writes the coordinate of a vector to x, which has the same length:
//
//	x[level] = ⌈vector[d] / θ[d]⌉ with d = order[level]
//
// The same function serves nodes and requests. Rounding up is monotonic, so
//
//	node covers request ⇒ coordinate(node) ≥ coordinate(request) in every dimension
//
// and a search that goes by coordinates misses no node. The converse does not hold for θ > 1: exact
// amounts decide in the end.
func (s space) coordinateInto(x []int64, vector Vector) {
	for level, d := range s.order {
		x[level] = ceilDiv(vector[d], s.theta[d])
	}
}

// ceilDiv returns ⌈v/theta⌉ for theta > 0. Go's division truncates towards zero, which rounds v ≤ 0 up.
func ceilDiv(v, theta int64) int64 {
	if v <= 0 {
		return v / theta
	}
	return (v-1)/theta + 1
}

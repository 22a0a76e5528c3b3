package distbucket

import (
	"errors"
	"fmt"
	"slices"
)

// Vector has one amount for each dimension, in the order of Config.Theta and in the caller's units.
// Free resources and requests are of type Vector. A coordinate, which has the amounts divided by θ
// and rounded up, has another type, because its dimensions may be in another order (Config.Order).
type Vector []int64

// Covers reports whether v is at least as large as request in every dimension.
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

// Config configures an index. The configuration of an index cannot be changed later.
//
// The granularity θ decides how exactly nodes are ordered by their free amounts. Nodes whose
// amounts are equal after division by θ and rounding up are in one leaf bucket, and are ordered
// only by their names. So a large θ makes large leaf buckets. With θ = 1, nodes are ordered by
// their exact amounts. The index needs the same memory for every θ.
type Config struct {
	Theta Vector // granularity of each dimension, at least 1; its length is the number of dimensions
	Order []int  // the dimensions in the order in which nodes are sorted by them; nil means 0, 1, 2, …
}

// space computes the coordinates of vectors. It is immutable and safe for concurrent use.
type space struct {
	theta Vector
	order []int
}

// newSpace returns the space of a configuration, or an error if the configuration is invalid.
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
// The coordinates of requests are computed in the same way as the coordinates of nodes. Rounding up
// is monotonic, so
//
//	node covers request ⇒ coordinate(node) ≥ coordinate(request) in every dimension
//
// Because of this, a search by coordinates misses no node that fits. But for θ > 1, a node whose
// coordinates are sufficient may have too little free. So for each node that a search finds by
// coordinates, it compares the exact free amounts with the request.
func (s space) coordinateInto(x []int64, vector Vector) {
	for level, d := range s.order {
		x[level] = ceilDiv(vector[d], s.theta[d])
	}
}

// ceilDiv returns ⌈v/theta⌉ for theta > 0. Go's division truncates towards zero, so for v ≤ 0 the
// result of v/theta is rounded up already.
func ceilDiv(v, theta int64) int64 {
	if v <= 0 {
		return v / theta
	}
	return (v-1)/theta + 1
}

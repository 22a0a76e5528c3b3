package distbucket

import (
	"errors"
	"fmt"
	"slices"
)

// Vector holds an amount for each dimension, in the order the administrator named them and in units of his choice. What is free and what is
// requested are vectors; a coordinate is not.
type Vector []int64

// Covers says whether v has at least what request asks for in every dimension.
func (v Vector) Covers(request Vector) bool {
	for d, want := range request {
		if v[d] < want {
			return false
		}
	}
	return true
}

// minus returns what is left of v, at least 0, when amounts are taken from it.
func (v Vector) minus(amounts Vector) Vector {
	left := make(Vector, len(v))
	for d := range v {
		left[d] = max(v[d]-amounts[d], 0)
	}
	return left
}

// Config is the administrator's: it holds for the life of an index.
type Config struct {
	Theta Vector // granularity of each dimension, at least 1; as many as there are dimensions
	Order []int  // the dimension that each level of the tree fixes; nil stands for 0, 1, 2, …
}

// space turns amounts into coordinates.
type space struct {
	theta Vector
	order []int
}

func newSpace(c Config) (space, error) {
	if len(c.Theta) == 0 {
		return space{}, errors.New("index without a dimension: give a granularity for each")
	}
	for d, theta := range c.Theta {
		if theta < 1 {
			return space{}, fmt.Errorf("granularity of dimension %d is %d: give at least 1", d, theta)
		}
	}
	order := slices.Clone(c.Order)
	if order == nil {
		order = natural(len(c.Theta))
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, natural(len(c.Theta))) {
		return space{}, fmt.Errorf("order of dimensions %v: name each of 0 to %d once", order, len(c.Theta)-1)
	}
	return space{theta: slices.Clone(c.Theta), order: order}, nil
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

// check says what is wrong with a vector.
func (s space) check(v Vector) error {
	if len(v) != s.dims() {
		return fmt.Errorf("%d amounts for %d dimensions", len(v), s.dims())
	}
	return nil
}

// coordinates writes the coordinate of v to x, which is as long.
func (s space) coordinateInto(x []int64, v Vector) {
	for level, d := range s.order {
		x[level] = ceilDiv(v[d], s.theta[d])
	}
}

// ceil returns ⌈v/theta⌉ for a positive theta. Go's division rounds towards zero, which is up for v ≤ 0.
func ceilDiv(v, theta int64) int64 {
	if v <= 0 {
		return v / theta
	}
	return (v-1)/theta + 1
}

package distbucket

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

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

// coordinate returns ⌈v/θ⌉ per dimension, in the order of the tree's levels. It serves nodes and tasks alike: rounding up keeps the order
// of amounts, so that a node that covers a request has no smaller coordinate than the request in any dimension.
func (s space) coordinate(v Vector) []int64 {
	x := make([]int64, len(v))
	s.coordinates(x, v)
	return x
}

// coordinates writes the coordinate of v to x, which is as long.
func (s space) coordinates(x []int64, v Vector) {
	for level, d := range s.order {
		x[level] = ceil(v[d], s.theta[d])
	}
}

// check says what is wrong with a vector.
func (s space) check(v Vector) error {
	if len(v) != s.dims() {
		return fmt.Errorf("%d amounts for %d dimensions", len(v), s.dims())
	}
	return nil
}

// ceil returns ⌈v/theta⌉ for a positive theta. Go's division rounds towards zero, which is up for v ≤ 0.
func ceil(v, theta int64) int64 {
	if v <= 0 {
		return v / theta
	}
	return (v-1)/theta + 1
}

// compareX orders coordinates lexicographically; a prefix comes with all that begin with it.
func compareX(x, prefix []int64) int {
	for l, want := range prefix {
		if c := cmp.Compare(x[l], want); c != 0 {
			return c
		}
	}
	return 0
}

// Package centertest makes node information centres for tests.
package centertest

import (
	"testing"

	"github.com/numalet/numalet/pkg/sched/center"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// New returns a centre of no nodes, with those dimensions (filter.ParseSpace).
func New(t testing.TB, dimensions string, p center.Profile) *center.Center {
	t.Helper()
	var err error
	if p.Space, err = filter.ParseSpace(dimensions); err != nil {
		t.Fatal(err)
	}
	c, err := center.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

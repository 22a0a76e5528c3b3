// Package nodestatetest creates values of nodestate.State for tests. A State has the scheduler's
// records of all nodes.
package nodestatetest

import (
	"testing"

	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// New returns a State without nodes. dimensions lists the dimensions of the State's index of
// nodes, in the form that filter.ParseSpace reads.
func New(t testing.TB, dimensions string, p filter.Profile) *nodestate.State {
	t.Helper()
	var err error
	if p.Space, err = filter.ParseSpace(dimensions); err != nil {
		t.Fatal(err)
	}
	c, err := nodestate.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

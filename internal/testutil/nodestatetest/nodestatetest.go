// Package nodestatetest creates values of nodestate.State for tests. A State has the scheduler's
// records of all nodes.
package nodestatetest

import (
	"testing"

	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// New returns a State without nodes. A State has an index by which the scheduler finds nodes
// with enough free resources. The parameter `dimensions` lists the amounts that this index
// compares, such as "cpu,memory,numa-single" (see filter.ParseSpace).
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

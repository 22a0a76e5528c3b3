// Package nodestatetest creates values of nodestate.State for tests. A State has the scheduler's
// records of all nodes.
package nodestatetest

import (
	"testing"

	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// New returns a State without nodes. A State has an index by which the scheduler finds nodes
// with enough free resources. The parameter `dimensions` lists the free amounts of a node that
// this index compares. In "cpu,numa-single", these are the free CPUs of the node, and the largest
// number of free CPUs on one of its NUMA nodes (see filter.ParseSpace).
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

package fragmentation

import "iter"

// changes is a log of changes of nodes. Each entry is the index of a node that has changed. The
// log drops old entries. A reader that has not read an entry before the log dropped it must
// treat all nodes as changed.
type changes struct {
	first uint64 // number of the first entry that is kept
	nodes []int
	last  []uint64 // by node: number of its last entry
}

// add appends an entry for a changed node.
func (c *changes) add(node int) {
	for len(c.last) <= node {
		c.last = append(c.last, 0)
	}
	c.last[node] = c.next()
	c.nodes = append(c.nodes, node)
	if keep := 2 * len(c.last); len(c.nodes) > 2*keep+64 {
		c.first += uint64(len(c.nodes) - keep)
		c.nodes = append(c.nodes[:0], c.nodes[len(c.nodes)-keep:]...)
	}
}

// next returns the number that the next entry of the log will get.
func (c *changes) next() uint64 { return c.first + uint64(len(c.nodes)) }

// The method `since` yields the nodes in the log entries from the given number on, each node once.
// The number must be at least c.first.
func (c *changes) since(from uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := from; at < c.next(); at++ {
			if node := c.nodes[at-c.first]; c.last[node] == at && !yield(node) {
				return
			}
		}
	}
}

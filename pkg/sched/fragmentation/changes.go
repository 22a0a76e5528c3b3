package fragmentation

import "iter"

// changes is the log of which nodes have changed. It drops old changes. A reader that has not
// read them has to read all nodes.
type changes struct {
	first uint64 // number of the first entry that is kept
	nodes []int
	last  []uint64 // by node: number of its last entry
}

// add appends a change of a node.
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

// next returns the number of the next entry.
func (c *changes) next() uint64 { return c.first + uint64(len(c.nodes)) }

// since yields the nodes that have changed since an entry, each once. from is not before first.
func (c *changes) since(from uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := from; at < c.next(); at++ {
			if node := c.nodes[at-c.first]; c.last[node] == at && !yield(node) {
				return
			}
		}
	}
}

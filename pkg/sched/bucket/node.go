package bucket

// Node is an element of the index. Who adds it gives it away: neither the vector nor what Record points to may change afterwards, for
// readers see them without a lock.
type Node struct {
	Name   string
	Free   Vector
	Record any // what the owner keeps with the node; the index only carries it
}

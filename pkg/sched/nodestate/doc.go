// Package nodestate is the node information centre: the newest record of every
// node, which pods hold what there, and the indexes by which nodes are found.
//
// It knows what is true now, and keeps it consistent: a record is what its node
// has, less what every pod there holds. It refuses to decide (package pipeline
// finds nodes and assigns them).
//
//	c, err := center.New(center.Profile{Space: space, Theta: theta})
//	c.SetNode(node)                         // as the adapter sees it, all of it free
//	ok := c.Place(pod, record, placement)   // false: the record is not the newest
package nodestate

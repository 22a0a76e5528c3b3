// Package propose is the first tier: it reads a view of the node information
// centre and makes the first list for a pod, the nodes that suit it best with
// their records as read.
//
// It knows how to look and what to look for; it refuses to change anything, so
// that any number of proposers work side by side without a lock.
//
//	p := propose.New(center.View, propose.Options{Filter: upstream, Rand: rand})
//	list := p.Propose(pod)
package propose

package bucket

import "math/rand/v2"

// Query is what a task asks of a view.
type Query struct {
	Request    Vector           // a node fits if it has this much free in every dimension; an amount for each
	Policy     Policy           // which of those that fit comes first
	Candidates []string         // the nodes that may be taken; nil stands for all of them, empty for none
	Accept     func(*Node) bool // has the last word on a node that fits; nil accepts
	After      string           // NextFit: the name of the node taken last
	Task       string           // who asks, for nodes that hold a reservation; see Reserving

	// Rand is what Random draws from; without it Random is FirstFit. With LeastFit and BestFit it draws among the nodes of a leaf, where
	// the smallest name would win: proposers that ask the same view then get in each other's way less.
	Rand *rand.Rand
}

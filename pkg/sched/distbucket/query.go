package distbucket

import "math/rand/v2"

// Query is what a task asks of a view.
type Query struct {
	Request    Vector           // a node fits if it has this much free in every dimension; an amount for each
	Policy     Policy           // which of those that fit comes first
	Candidates []string         // the nodes that may be taken; nil stands for all of them, empty for none
	Accept     func(*Node) bool // has the last word on a node that fits; nil accepts
	After      Mark             // NextFit, and LeastFit and BestFit within a leaf, go on behind it, round and round
	Task       string           // who asks, for nodes that hold a reservation; see Reserving

	// Rand is what Random draws from; without it Random is FirstFit. LeastFit and BestFit draw a name from it where After is the zero value: proposers
	// that ask the same view then get in each other's way less than if each began with the smallest name.
	Rand *rand.Rand
}

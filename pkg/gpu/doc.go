// Package gpu models a node's GPUs: cards and MIG slices, the links between cards,
// and which of the free cards are connected best.
//
// It works on the inventory that an adapter has read from the driver, and does not
// access a driver itself. Missing facts stay unknown: a card whose NUMA node is
// unknown is never treated as aligned.
//
//	cards, ok := inventory.Choose(free, gpu.Wish{Count: 2})
//	cards, node, err := inventory.ChooseAligned(free, 2, fits) // all on one NUMA node
//
// inventory.go, card.go, kind.go and link.go are the types; choose.go and align.go
// the API of the choice; score.go compares two sets of cards, search.go finds the
// best one.
package gpu

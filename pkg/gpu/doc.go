// Package gpu is a node's GPUs as the project knows them: cards and MIG slices,
// how cards are linked, and which of the free ones go together best.
//
// It knows what an adapter read from the driver; it refuses to ask a driver
// itself, and what nobody told stays unknown: a card whose NUMA node is unknown
// is never taken for aligned.
//
//	cards, ok := inventory.Choose(free, gpu.Wish{Count: 2})
//	cards, node, err := inventory.ChooseAligned(free, 2, fits) // all on one NUMA node
//
// From the outside in: inventory.go, card.go and unit.go are the nouns, link.go and row.go
// how two cards are linked, choose.go and align.go choose, score.go says which of
// two sets is better, search.go, alike.go and grow.go find the best.
package gpu

// Package reservation keeps a place for pods that no node suits (D7): it says on which
// node one will fit soonest, and has that node held back for the first blocked pod
// of each type, so that small work neither starves it nor waits for it.
//
// It knows who holds what on a node and, where somebody does, when that ends; it
// refuses to know clocks, and to place anything.
//
//	keeper := reserve.New(center, queue, reserve.Options{Ends: deadline})
//	keeper.Tend(now) // now and then
package reservation

// Package reservation reserves nodes for pods that fit no node now. For the first unschedulable pod
// of each resource type in the queue, it reserves the node on which that pod will fit soonest.
// Small pods that are behind this unschedulable pod in the queue then neither starve it nor wait
// for it.
//
// The package reads from package nodestate which resources each pod holds on its node. For some
// pods, the caller also knows when they will end (Options.Ends). The package reads no clock and
// places no pods.
//
//	reservations := reservation.New(state, queue, reservation.Options{Ends: deadline})
//	reservations.Tend(now) // periodically
package reservation

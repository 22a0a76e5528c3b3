// Package reservation reserves nodes for pods that fit no node now. For the first unschedulable
// pod of each resource type in the queue, it reserves the node on which that pod will fit
// soonest. Small pods behind the unschedulable pod then neither starve it nor wait for it.
//
// The package reads from package nodestate which resources each pod holds on its node. For some
// pods, its caller also knows when they will end. The package reads no clock and places no pods.
//
//	reservations := reservation.New(state, queue, reservation.Options{Ends: deadline})
//	reservations.Tend(now) // periodically
package reservation

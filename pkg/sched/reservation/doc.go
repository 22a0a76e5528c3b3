// Package reservation reserves nodes for pods that fit no node now. For the first blocked pod of
// each resource type in the queue, it reserves the node on which that pod will fit soonest. Small
// pods behind the blocked pod then neither starve it nor wait for it.
//
// It knows what pods hold on each node and, for some pods, when they end. It reads no clock and
// places no pods.
//
//	reservations := reservation.New(state, queue, reservation.Options{Ends: deadline})
//	reservations.Tend(now) // periodically
package reservation

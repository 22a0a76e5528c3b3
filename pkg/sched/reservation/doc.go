// Package reservation reserves nodes for pods that fit no node . For the first blocked pod of each
// type it finds the node on which the pod will fit soonest, and reserves that node. Small pods then
// neither starve the blocked pod nor wait for it.
//
// It uses what pods hold on a node and, if known, when they end. It reads no clock and
// places no pods.
//
//	reservations := reservation.New(state, queue, reservation.Options{Ends: deadline})
//	reservations.Tend(now) // periodically
package reservation

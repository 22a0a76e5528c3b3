// Package fairness measures how fairly users share a cluster if pods are scheduled in a given
// order. On a virtual clock, synthetic users with different demand submit pods. The package
// measures how many GPUs each user gets, how long pods wait, and whether large pods starve among
// small ones.
//
// The package makes no scheduling decisions itself. Package lab/virtual makes them, with the
// controller's queue, scheduling pipeline and reservations of nodes.
//
//	outcome, err := fairness.Share(nodes, samples, fairness.Settings{Users: fairness.Users(20, 4, 64), Turns: virtual.ByScore})
package fairness

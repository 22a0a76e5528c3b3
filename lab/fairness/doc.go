// Package fairness measures how fairly an order of pods shares a cluster. On a virtual
// clock, synthetic users with different demand submit work; the package measures how much
// each user gets, how long work waits, and whether large pods starve among small ones.
//
// It makes no scheduling decisions: package virtual runs the controller's queue, pipeline
// and reservations.
//
//	outcome, err := fairness.Share(nodes, samples, fairness.Settings{Users: fairness.Users(20, 4, 64), Turns: virtual.ByScore})
package fairness

// Package fairness measures how fairly an order of pods shares a cluster. On a virtual
// clock, synthetic users with different demand submit work; the package measures how much
// each user gets, how long work waits, and whether large pods starve among small ones.
//
// It makes no scheduling decisions: the queue, the pipeline and the reservations are those
// of package virtual, which are the controller's.
//
//	outcome, err := fair.Share(nodes, samples, fair.Settings{Users: fair.Users(20, 1.1, 8), Turns: virtual.ByScore})
package fairness

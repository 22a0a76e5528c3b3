// Package fairness measures how fairly an order of pods shares a cluster: users of
// different appetite on a virtual clock, what each has got in the end and how long
// their work has waited; and whether large work starves among small.
//
// It knows made-up users and measures; it refuses to decide anything: queue, tiers
// and reservations are those of package virtual, and so the controller's.
//
//	outcome, err := fair.Share(nodes, samples, fair.Settings{Users: fair.Users(20, 1.1, 8), Turns: virtual.ByScore})
package fairness

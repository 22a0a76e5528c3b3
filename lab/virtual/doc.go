// Package virtual runs the scheduler on a virtual clock: what decides is the same as in
// the controller, and times are given.
//
// Run has pods wait for the two tiers, of which each step takes time: it answers what a
// number of first-tier schedulers would gain, exactly and at once, and shows that with
// conflicts nothing is promised twice. A Cluster has work that comes, takes turns, runs
// and ends, by the controller's queue, scores and reservations or as kube-scheduler has
// it. The package refuses to make work up, and to judge what comes of it.
//
//	v := virtual.NewCluster(center, virtual.Rules{Turns: virtual.ByScore, Decay: decay})
//	v.Submit(virtual.Work{Pod: pod, Tenant: "ann", Takes: time.Hour})
//	v.Run(24 * time.Hour)
package virtual

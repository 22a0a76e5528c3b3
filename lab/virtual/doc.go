// Package virtual runs the scheduler on a virtual clock. The scheduler is the controller's;
// how long its steps take is given.
//
// Run schedules pods that are all pending at the start, with a duration for each step. It
// computes what a number of proposers gains, and shows that conflicts never assign
// resources twice. A Cluster has work that arrives, waits, runs and ends, with the
// controller's queue, scores and reservations, or with a queue like kube-scheduler's. The
// package neither generates workloads nor evaluates the results.
//
//	v := virtual.NewCluster(state, virtual.Rules{Turns: virtual.ByScore, Decay: decay})
//	v.Submit(virtual.Work{Pod: pod, Tenant: "ann", Takes: time.Hour})
//	v.Run(24 * time.Hour)
package virtual

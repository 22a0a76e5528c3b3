// Package virtual runs the controller's scheduler on a virtual clock.
//
// Run schedules pods that are all pending at the start. The caller sets how long each step of the
// scheduler takes. Run shows how much time several concurrent proposers save, and that their
// conflicts never assign resources twice. A Cluster simulates work that arrives, waits, runs and
// ends. A Cluster has the controller's queue, scores and reservations, or a queue like that of
// kube-scheduler. The package neither generates workloads nor evaluates the results.
//
//	v := virtual.NewCluster(state, virtual.Rules{Turns: virtual.ByScore, Decay: decay})
//	v.Submit(virtual.Work{Pod: pod, Tenant: "ann", Takes: time.Hour})
//	v.Run(24 * time.Hour)
package virtual

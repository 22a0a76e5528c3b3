// Package virtual runs the controller's scheduler on a virtual clock.
//
// Run schedules pods that are all pending at the start. The caller sets how long each step of the
// scheduler takes. Run simulates proposers, which look for nodes concurrently, and one committer,
// which assigns the nodes. It shows how much time several proposers save. It also shows that no
// resource is assigned twice, even if two proposers choose the same resource. A Cluster simulates
// work that arrives, waits, runs and ends. A Cluster has the controller's queue, scores and
// reservations, or a queue like that of kube-scheduler. The package neither generates workloads
// nor evaluates the results.
//
//	v := virtual.NewCluster(state, virtual.Rules{Turns: virtual.ByScore, Decay: decay})
//	v.Submit(virtual.Work{Pod: pod, Tenant: "ann", Takes: time.Hour})
//	v.Run(24 * time.Hour)
package virtual

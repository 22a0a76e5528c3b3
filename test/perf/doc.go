// Command perf compares schedulers. It uses one API server, hollow nodes and a backlog of
// pods. The contenders are a client that only creates Bindings, one that also writes a
// scheduler's events, one that also runs a scheduler's informers, kube-scheduler with several
// settings, and Numalet. `make perf` runs it with an empty cluster.
//
// Each contender is ready, with full caches, while the backlog is created, and starts on a
// signal: a scheduler when it gets a lease that this program held, a client on SIGUSR1. The
// rate "bound" is pods per second from the signal's effect to the last binding, as seen by a
// separate watcher. The rate "told" counts until the last event is written. CPU is everything that
// the process used from before the backlog was created until it was idle again, including events.
// Then pods are created one by one, and the time until each is bound is measured.
//
// With -fill, the cluster is busy: nodes are more or less full, some have a taint, and some
// pods have affinity or spread. With -waiting, the schedulers bind the same backlog again
// while older pods wait that nothing can place. `make perf-busy` runs this.
package main

// Command perf measures schedulers side by side: one API server, hollow nodes, a
// backlog of pods, and in turn a bare client that only posts Bindings, one that
// posts the same writes as a scheduler does, one that has the same informers,
// too, kube-scheduler, and Numalet. `make perf` runs it.
//
// Every contender stands by with its caches full while the backlog is made, and
// starts on a signal: the schedulers by getting a lease that this program held,
// the clients by SIGUSR1. Bound pods a second count from the signal's effect to
// the last bind, as a third party that watches bound pods sees it. CPU is all
// that the process took from before the backlog was made until it came to rest,
// events and all. Then pods come one by one, and how long each waits is
// measured.
package main

// Package virtual runs the controller's parts on a virtual clock, in two ways.
//
// Run has both tiers take the times that are given: what a number of first-tier
// schedulers would gain, exactly and at once, and that with conflicts nothing is
// promised twice. In a Cluster work comes, waits, runs and ends, in the order of the
// controller's queue and with its reservations, or as with kube-scheduler, and a
// decision takes no time.
package virtual

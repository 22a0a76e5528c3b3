// Command perf compares the speed of schedulers. It uses one API server, simulated nodes (Node
// objects without kubelets) and a backlog of pods. The programs that it compares, the contenders,
// are kube-scheduler with several settings, Numalet, and three clients that decide nothing. The
// first client only creates Bindings, the second one also writes the events of a scheduler, and the
// third one also runs the informers of a scheduler. `make perf` runs the command with an empty
// cluster.
//
// Before the backlog is created, the process of a contender runs and has filled its caches. The
// contender begins to bind pods on a signal: a scheduler when it gets the Lease that this program
// has held, and a client on SIGUSR1. The rate "bound" is pods per second from this moment until the
// last binding, which a separate watch reports. The rate "told" is how many events the contender
// writes per second, from the same moment until its last event. "CPU" is the CPU time that the
// process uses from the creation of the backlog until the process is idle again. This includes the
// time for events. Then, if the contender is a scheduler, pods are created one by one, and the time
// until each is bound is measured.
//
// With -fill, the cluster is busy: the nodes are full to different degrees, some nodes have a
// taint, and some pods have an affinity or a topology spread constraint. With -waiting, there are
// additional rounds with the same backlog and with older pods, which wait because they fit no node.
// Before such a round, another process of the contender has set the condition that these older pods
// are unschedulable. `make perf-busy` runs the command with both flags.
package main

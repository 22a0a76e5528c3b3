// Package pipeline schedules pods in two tiers: any number of proposers look for nodes
// concurrently, and one committer decides.
//
//	queue ─► 1 proposers (N) ─► 2 lists (FIFO, 2N) ─► 3 committer (one) ─► 4 decisions (FIFO, M) ─► 5 binders (M)
//	  ▲                                                   │                                              │
//	  └──────── no node fits, or all were taken ──────────┴────────────── the Binding failed ────────────┘
//
// The numbers of the steps are those in the drawing. N is the number of proposers, M the number
// of binders. The FIFO of lists holds up to 2N lists, the FIFO of decisions up to M decisions.
//
//  1. A Proposer takes the next pod from the queue and reads an immutable view of the cluster
//     (nodestate.View). It makes a list of the nodes that suit the pod best. The list contains
//     the record of each node that the proposer read, and in most cases the pod's placement (its
//     CPUs and GPUs) on the best node. For a gang, which is a set of pods that start together,
//     the proposer plans a node for each pod. Proposers share no data that changes, except the
//     queue.
//  2. Lists wait for the committer in a short FIFO. In a long FIFO, lists would become outdated:
//     most of the listed nodes would have changed before the committer reads a list, and fewer
//     pods would be placed (volcano-sh/volcano#5939).
//  3. The Committer alone assigns pods to nodes. It takes one list at a time and checks the nodes
//     that have changed since they were listed. It assigns the pod to the best node that still
//     fits. A gang gets nodes for all the pods that have to start together, or for none. If no
//     listed node fits any more, the pod returns to the queue, and a proposer searches again. The
//     committer does not search, because all other pods would wait meanwhile. The only exception
//     are pods of a gang that have volumes or devices to reserve (sched.Pod.Reserves).
//  4. Decisions wait for a binder in a second FIFO. When this FIFO is full, the committer waits
//     until half of it is empty.
//  5. A binder creates the pod's Binding in the API server. If that fails, the resources that the
//     pod got on the node are free again, and the pod returns to the queue.
//
// Step 3 alone guarantees that no CPU is assigned twice. Package nodestate, which keeps the
// nodes' records, assigns resources of a node only if the node's record is still the one that the
// decision was computed from. So an outdated view can only cost time.
//
// The package reads no clock, and knows the queue only as the interface Queue. So simulations can
// use the same Proposer and Committer: package lab/virtual with a virtual clock, and package
// lab/replay in a single goroutine.
package pipeline

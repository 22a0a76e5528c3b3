// Package pipeline schedules pods in two tiers: any number of proposers look for nodes
// concurrently, and one committer decides.
//
//	queue ─► 1 proposers (N) ─► 2 lists (FIFO, 2N) ─► 3 committer (one) ─► 4 decisions (FIFO, M) ─► 5 binders (M)
//	  ▲                                                   │                                              │
//	  └──────── no node fits, or all were taken ──────────┴────────────── the Binding failed ────────────┘
//
// The steps, by their numbers in the drawing:
//
//  1. A Proposer takes the next pod from the queue and reads an immutable view of the
//     cluster (nodestate.View). It lists the nodes that suit the pod best, with the
//     records that it read and the placements on them. For a gang it plans nodes for all
//     its pods. Proposers share nothing.
//  2. Lists wait in a short FIFO. In a long one they would become outdated: the faster the
//     proposers are, the more listed nodes have changed when the committer reads the list, and the
//     fewer pods are placed (volcano-sh/volcano#5939).
//  3. The Committer, the only one that assigns nodes, takes one list at a time. It checks
//     changed nodes again and assigns the best that still fits; a gang gets nodes for all
//     the pods that have to start together, or for none. If no node is left, the pod
//     returns to the queue, for another search by a proposer: the committer does not search,
//     because all pods wait for it (the only exception are gangs with sched.Pod.Reserves).
//  4. Decisions wait for a binder in a second FIFO, which the committer fills and binders
//     empty half a buffer at a time.
//  5. A binder writes the Binding. If that fails, the node gets its resources back and
//     the pod returns to the queue.
//
// Step 3 alone makes this safe: nodestate assigns resources only if the node's record is the one
// that the decision was computed from. So a stale view can cost time, but no CPU is ever assigned
// twice.
//
// The package has no clock, and knows the queue only as the interface Queue. Package
// lab/virtual runs the same Proposer and Committer on a virtual clock, lab/replay without
// concurrency.
package pipeline

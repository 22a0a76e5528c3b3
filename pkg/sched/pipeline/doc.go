// Package pipeline schedules pods in two tiers: any number of proposers look for nodes
// concurrently, and one committer decides.
//
//	queue ─► 1 proposers (N) ─► 2 lists (FIFO, 2N) ─► 3 committer (one) ─► 4 decisions (FIFO, M) ─► 5 binders (M)
//	  ▲                                                   │                                              │
//	  └──────── no node fits, or all were taken ──────────┴────────────── the Binding failed ────────────┘
//
// N is the number of proposers, and M is the number of binders. The FIFO of lists holds up to 2N
// lists, and the FIFO of decisions holds up to M decisions. The steps below have the same numbers
// as in the drawing.
//
//  1. A Proposer takes the next pod from the queue and reads an immutable view of the cluster
//     (nodestate.View). It makes a list of the nodes that suit the pod best. For each listed node,
//     the list contains the record that the proposer read. In most cases, the list also contains
//     the pod's placement (its CPUs and GPUs), at least on the best node. For a gang, which is a
//     set of pods that start together, the proposer plans a node for each pod. Proposers share only
//     the queue, the state of the cluster, and data of the filters.
//  2. Lists wait for the committer in a short FIFO. In a long FIFO, lists would become outdated.
//     Most of the listed nodes would have changed before the committer reads a list. Then fewer
//     pods would be placed (volcano-sh/volcano#5939).
//  3. The Committer alone assigns pods to nodes. It takes one list at a time and assigns the list's
//     pod to the best listed node that still fits. It checks a node again only if the node has
//     changed since it was listed, or if the pod's fit depends on other nodes too
//     (sched.Pod.Across). For a gang, the committer assigns nodes to all pods that have to start
//     together, or to none of them. If no listed node fits any more, the pod returns to the queue,
//     and a proposer searches again. The committer itself does not search for nodes, because all
//     other pods would wait meanwhile. The only exception is a pod that is in a gang and has
//     volumes or devices to reserve (sched.Pod.Reserves).
//  4. Decisions wait for a binder in a second FIFO. When this FIFO is full, the committer waits
//     until half of it is empty.
//  5. A binder creates the pod's Binding in the API server. If the API server does not create the
//     Binding, the resources that the pod got on the node are free again, and the pod returns to
//     the queue.
//
// No CPU is assigned twice, even if views and lists are outdated. Package nodestate, which keeps
// the nodes' records, ensures this in step 3: it assigns resources of a node only if the node's
// record is still the one that the decision was computed from. So an outdated view or list can only
// cost time.
//
// Package pipeline reads no clock, and knows the queue only as the interface Queue. So
// simulations can use the same Proposer and Committer. Package lab/virtual runs them with a
// virtual clock, and package lab/replay in a single goroutine.
package pipeline

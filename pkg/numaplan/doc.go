// Package numaplan decides how many exclusive CPUs each container of a pod gets on each NUMA node.
// Both the scheduler (in package filter) and the node's ledger of CPUs (package pool) use it, so
// that the ledger accepts what the scheduler has placed.
//
// The package considers the pod's policy, which of the pod's containers run at the same time, and
// how many CPUs and how much memory are free on each NUMA node. Package pool chooses CPU ids.
// Package filter considers GPUs and nodes of the cluster.
//
//	counts, reason := numaplan.Plan(
//		numaplan.Request{Policy: podspec.Single, Containers: containers},
//		numaplan.View{NUMA: []numaplan.NUMANode{{ID: 0, FreeCPUs: 6}, {ID: 1, FreeCPUs: 7}}},
//		numaplan.Hooks{})
//
// Plan finds a solution if there is one, unless the search tries more than SearchLimit choices. A
// greedy algorithm would refuse pods that fit. For example, app containers with 5, 2, 2 and 4 CPUs
// and the policy "single" fit on NUMA nodes with 7 and 6 free CPUs only as {5, 2} and {2, 4}. Best
// fit puts the container with 5 CPUs on the NUMA node with 6 free CPUs. Then the other containers,
// which need 8 CPUs, do not fit on the other NUMA node. Therefore, Plan is a depth-first search. It
// tries the policy's best choice first, so for most pods the first choice for each container
// succeeds. To place several containers with the policy "single" is bin packing, which is NP-hard.
// A long search stores the states from which there is no solution, and does not search them again.
// A state consists of the containers that are still to be placed, and of the resources that the
// placed containers use on each NUMA node. If the caller sets Hooks.Allow, the search stores no
// states: a state does not say where each single container is placed, but Allow may depend on this.
// So Allow can refuse every solution from a state that was reached in one way, and allow a solution
// from the same state that was reached in another way. If the NUMA nodes are interchangeable,
// states that differ only in the order of the NUMA nodes count as one state. After SearchLimit
// choices, Plan gives up with the reason SearchCut. A scheduler that calls Plan for each of many
// machines sets Request.Effort, which limits the choices of all these calls together.
//
// Plan need not know CPU ids, because the node's ledger can find CPU ids for the planned numbers.
// (There is one exception: if pods share no cores and the CPUs of one core belong to different NUMA
// nodes, the ledger may fail.) The ledger gives containers their CPUs in the order in which they
// start, and each container first reuses CPUs of the pod's containers that have already ended. So
// on each NUMA node the pod needs only as many CPUs as its containers use there at one time. (The
// lifetimes of containers are intervals of time. Each container gets CPUs that are idle when it
// starts. This is the greedy coloring of an interval graph, which is known to need the fewest
// CPUs.)
//
// plan.go has the API, search.go the search, effort.go its limits, and options.go the policies.
// resize.go has the policies for containers that grow or shrink. reason.go and refusal.go have the
// codes and messages for pods that do not fit.
package numaplan

// Package numaplan decides how many exclusive CPUs each container of a pod gets
// on each NUMA node. It is the only planner: the controller's committer and the
// node's ledger both use it, so what one places the other accepts.
//
// It works with policies, the phases of a pod's life, and the numbers of free CPUs and
// free memory on each NUMA node. CPU ids are in package pool; GPUs and cluster nodes
// are in package filter.
//
//	counts, reason := numaplan.Plan(
//		numaplan.Request{Policy: podspec.Single, Containers: containers},
//		numaplan.View{NUMA: []numaplan.NUMANode{{ID: 0, FreeCPUs: 6}, {ID: 1, FreeCPUs: 7}}},
//		numaplan.Hooks{})
//
// The answer is exact. A greedy pass refuses pods that fit: with the policy
// single, apps of 5, 2, 2 and 4 CPUs fit on NUMA nodes with 7 and 6 free CPUs
// only as {5, 2} and {2, 4}, which best fit does not find. Plan is a depth-first
// search with the policy's best choice first, so that the usual pod takes one
// pass: O(containers² · NUMA nodes). Several containers with the policy single
// are bin packing, which is NP-hard; states that are equal but for the names of
// NUMA nodes are searched once, and after SearchLimit steps Plan gives up with
// the reason SearchCut.
//
// Counts suffice: a node can always turn them into CPU ids. It gives containers
// their CPUs in the order in which they start; lives of containers are
// intervals, and first come, first served colours an interval graph with as
// many colours as intervals overlap at most. So a pod holds exactly its peak on
// each NUMA node.
//
// plan.go has the API, search.go the search, options.go the policies, resize.go the
// policies of a container that grows or shrinks, and reason.go and refusal.go the codes
// and messages for pods that do not fit.
package numaplan

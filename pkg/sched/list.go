package sched

import "cmp"

// Candidate is a node that fitted a pod when the node's record was read. A caller can compare
// Node.Version with the version of the newest record to find out whether the node has changed since
// the record was read.
type Candidate struct {
	Node *Node
	// Surplus is how many GPUs of the pod's GPU group (GPUs that belong to some tenants) would stay
	// free on the node. If it is above 0, the pod takes only some of the group's free GPUs on this
	// node, although a pod with a larger request could use all of them. Surplus is 0 for a pod
	// without GPURequest.Offer.
	Surplus int
	// Preference is the Preferrer's rating of how much the pod prefers the node. It is 0 for all
	// candidates of a pod that prefers no node to another.
	Preference int64
	Score      Score // computed by the policy of the pod's scheduling profile
	// At is the pod's placement on this node. For some pods (see filter.Profile.Try), the placement is
	// computed only when the node is chosen, and At is zero until then.
	At Placement
}

// Compare returns a negative number if c is worse than `other`. A candidate with fewer surplus GPUs
// is better, so that a pod's preference does not split up a set of GPUs that other pods need as a
// whole. Among candidates with the same surplus, the one that the pod prefers is better. The score
// decides between candidates that the pod prefers equally.
func (c Candidate) Compare(other Candidate) int {
	return cmp.Or(cmp.Compare(other.Surplus, c.Surplus), cmp.Compare(c.Preference, other.Preference), c.Score.Compare(other.Score))
}

// List has the nodes that a pipeline.Proposer has found for a pod, best first. It has no nodes if
// no node fitted. A Proposer only suggests nodes; a pipeline.Committer then assigns one of them to
// the pod.
type List struct {
	Pod        *Pod
	Candidates []Candidate
	Planned    []Planned // for a gang, used instead of Candidates: pods of the gang, each with its node; empty if too few pods fitted
	FreedSeq   uint64    // value of nodestate.View.FreedSeq, which counts releases of resources, at the time when the nodes were read
	NarrowSeq  uint64    // value of nodestate.View.NarrowSeq before the nodes were read; it counts changes after which pods may no longer fit nodes whose records are unchanged
	Results    any       // what the additional filters found out about the pod before they checked single nodes (Filter.Begin); see Relay.Results
}

// Planned is a pod of a gang, and the node that a pipeline.Proposer planned for the pod. One call
// of Propose plans as many pods of the gang as fit. Candidate.Node is the record that the Proposer
// read. Its free resources still include what the planned pods of the gang will use.
type Planned struct {
	Pod *Pod
	Candidate
}

// Decision is a pod and its placement.
type Decision struct {
	Pod *Pod
	At  Placement
}

// Filter adds the filters of another system, such as kube-scheduler's plugins, to those of package
// filter. An instance handles one pod at a time, and only one goroutine may use it.
type Filter interface {
	// Begin starts to filter nodes for a pod. It uses the current state of the cluster. The first
	// result has the names of the only nodes that may fit the pod, or is nil if any node may fit.
	// If Begin finds out that no node fits, the second result has the reason.
	Begin(*Pod) (only []string, why Reason)
	// Check returns the reason why a node does not fit the pod given to Begin, or no reason if the
	// node fits.
	Check(*Node) Reason
}

// Relay is a Filter that can reuse the results of another instance. These results include what
// Begin found out in the other instance, so Begin need not be called in this instance.
type Relay interface {
	Filter
	// Results returns what Begin found out about the current pod. The caller can pass these results to
	// the method Resume of another instance. They are immutable.
	Results() any
	// Resume is called instead of Begin. The argument `begun` is what Results of another instance
	// returned for the same pod. Resume is cheaper than Begin. If the pod's fit depends on other
	// nodes (Pod.Across), `begun` may be out of date. Then Resume and the following calls of Check
	// accept a node only if the pod fitted it when Begin was called in the other instance, and if
	// no change since then may affect the pod's fit on the node. For a pod of a gang, `begun` may
	// instead be the results for another pod of the gang.
	Resume(pod *Pod, begun any) Reason
}

// Preferrer is a Filter that also rates nodes by what a pod prefers, such as preferred affinity. If
// Preferring returns 0 for a pod, Prefer is not called for it.
type Preferrer interface {
	Filter
	// Preferring returns how many nodes should be rated for the pod given to Begin, or 0 if the pod
	// prefers no node to another. The argument is the number of nodes in the cluster.
	Preferring(nodes int) int
	// Prefer rates the given nodes, which fit the pod given to Begin. It passes its ratings, one
	// for each node, to the function in the parameter `choose`; a greater rating is better. This
	// function, which the caller provides, returns the index of the node that the pod will probably
	// get. The filter may remember this node. When it then rates nodes for other pods, it counts this
	// pod as if it ran on the remembered node, even if the pod is not assigned yet.
	Prefer(nodes []*Node, choose func(ratings []int64) int)
}

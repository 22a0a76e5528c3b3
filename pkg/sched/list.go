package sched

import "cmp"

// Candidate is a node that fitted a pod when the node's record was read. A caller can compare
// Node.Version with the version of the newest record to find out whether the node has changed
// since.
type Candidate struct {
	Node *Node
	// Surplus is how many GPUs of the pod's GPU group (GPUs that belong to some tenants) would stay
	// free on the node. If it is above 0, the pod breaks up a set of free GPUs that a pod with a
	// larger request could use as a whole. Surplus is 0 for a pod without GPURequest.Offer.
	Surplus int
	// Preference is how much the pod prefers the node, as a Preferrer rates it. It is 0 for all
	// candidates of a pod that prefers no node to another.
	Preference int64
	Score      Score // computed by the policy of the pod's scheduling profile
	// At is the pod's placement on this node. It is zero if the placement has to be computed when
	// the node is chosen (filter.Profile.Try says when).
	At Placement
}

// Compare returns a negative number if c is worse than other. A candidate with fewer surplus GPUs
// is better, so that a pod's preference never breaks up a set of GPUs that other pods need as a
// whole. Among candidates with the same surplus, the one that the pod prefers is better. The score
// decides between candidates that the pod prefers equally.
func (c Candidate) Compare(other Candidate) int {
	return cmp.Or(cmp.Compare(other.Surplus, c.Surplus), cmp.Compare(c.Preference, other.Preference), c.Score.Compare(other.Score))
}

// List is the candidates that a first-tier scheduler (pipeline.Proposer) found for a pod, best
// first. There are none if no node fitted.
type List struct {
	Pod        *Pod
	Candidates []Candidate
	Planned    []Planned // for a gang, used instead of Candidates: its pods with their nodes; empty if too few pods fitted
	FreedSeq   uint64    // nodestate.View.FreedSeq, which counts releases of resources, when the nodes were read
	NarrowSeq  uint64    // nodestate.View.NarrowSeq before the nodes were read; it counts changes that may make pods unfit for nodes whose records are unchanged
	Results    any       // results of the filters that depend on no single node; see Relay.Results
}

// Planned is a pod of a gang, and the node that a first-tier scheduler (pipeline.Proposer) planned
// for the pod. One call of Propose plans as many pods of the gang as fit. Candidate.Node is the
// record that the scheduler read. Its free resources still include what the planned pods of the
// gang will use.
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
// filter. An instance handles one pod at a time and serves one goroutine.
type Filter interface {
	// Begin starts filtering for a pod with the current state of the cluster. It returns the names
	// of the only nodes that may fit the pod; nil means that any node may. If no node fits, it
	// returns the reason.
	Begin(*Pod) (only []string, why Reason)
	// Check returns the reason why a node does not fit the pod given to Begin.
	Check(*Node) Reason
}

// Relay is a Filter that can continue with the results of Begin of another instance, so that Begin
// need not be called on this instance.
type Relay interface {
	Filter
	// Results returns the results of Begin for the current pod. They are immutable.
	Results() any
	// Resume is called instead of Begin. begun is what Results of another instance returned for the
	// same pod. Resume is cheaper than Begin. If the pod's fit depends on other nodes (Pod.Across),
	// Resume and the Checks that follow accept a node only if the pod fitted it when Begin was
	// called, and if no change since then concerns the node. For a pod of a gang, begun may instead
	// be the results for another pod of the gang.
	Resume(pod *Pod, begun any) Reason
}

// Preferrer is a Filter that also rates nodes by what a pod prefers, such as preferred affinity. If
// Preferring returns 0 for a pod, Prefer is not called for it.
type Preferrer interface {
	Filter
	// Preferring returns how many nodes to rate for the pod given to Begin, in a cluster with this
	// number of nodes. It returns 0 if the pod prefers no node to another.
	Preferring(nodes int) int
	// Prefer rates nodes that fit the pod given to Begin, and calls choose with one rating for each
	// node. Greater is better. choose returns the index of the node that the pod will probably get.
	// When later pods are rated, the filter may count the pod as running on that node.
	Prefer(nodes []*Node, choose func(ratings []int64) int)
}

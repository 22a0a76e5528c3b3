package sched

import "cmp"

// Candidate is a node that fitted a pod when its record was read. The record
// carries the version.
type Candidate struct {
	Node *Node
	// Surplus is how many GPUs more than requested the pod's GPU group has free on the node. Pods
	// that need many GPUs would lose them. It is 0 for a pod without an Offer.
	Surplus int
	// Preference is how much the pod prefers the node (Preferrer). It is 0 for all candidates
	// of a pod that prefers none.
	Preference int64
	Score      Score // by the profile
	// At is the placement on this record. It is zero if it has to be computed when the
	// node is chosen (filter.Profile.Try says when).
	At Placement
}

// Compare returns a negative number if c is worse than other. A candidate with fewer surplus GPUs
// comes first, so that a preference never breaks up a set of GPUs that other pods need as a whole.
// The score of the profile decides between nodes that the pod prefers equally.
func (c Candidate) Compare(other Candidate) int {
	return cmp.Or(cmp.Compare(other.Surplus, c.Surplus), cmp.Compare(c.Preference, other.Preference), c.Score.Compare(other.Score))
}

// List is the candidates that a first-tier scheduler found for a pod, best first.
// It is empty where no node fitted.
type List struct {
	Pod        *Pod
	Candidates []Candidate
	Planned    []Planned // instead of Candidates for a gang: nodes for its pods; empty where too few fitted
	FreedSeq   uint64    // the cluster's release counter when the nodes were read
	NarrowSeq  uint64    // the counter of changes that make unchanged nodes unfit, as it was before that
	Results    any       // node-independent results of the filters; see Relay
}

// Planned is a pod of a gang, and the node that a first-tier scheduler planned for it together
// with the other pods. Node is the record that was read, without any of these pods.
type Planned struct {
	Pod *Pod
	Candidate
}

// Decision is a pod and its placement.
type Decision struct {
	Pod *Pod
	At  Placement
}

// Filter adds the filters of another system to those of package filter. An instance
// handles one pod at a time and serves one goroutine.
type Filter interface {
	// Begin starts filtering for a pod with the current state of the cluster. It
	// returns the only nodes that may fit (nil for any), or the reason why none does.
	Begin(*Pod) (only []string, why Reason)
	// Check returns the reason why a node does not fit the pod given to Begin.
	Check(*Node) Reason
}

// Relay is a Filter that can resume the work of another instance.
type Relay interface {
	Filter
	// Results returns the results of Begin for the current pod. They are immutable.
	Results() any
	// Resume replaces Begin, given the results of another instance's Results for the
	// same pod. It is cheaper than Begin. If the pod's fit depends on other nodes (Pod.Across),
	// Resume and the Checks that follow accept a node only if the pod fitted it when Begin was
	// called, and if no change since then concerns the node. For a pod of a gang, begun may be the
	// results for the first pod of the gang that was planned.
	Resume(pod *Pod, begun any) Reason
}

// Preferrer is a Filter that also rates nodes by what a pod prefers, such as preferred
// affinity. For a pod that prefers nothing, only Preferring is called.
type Preferrer interface {
	Filter
	// Preferring returns how many nodes to rate for the pod given to Begin, in a cluster with this
	// number of nodes. It returns 0 if the pod prefers no node to another.
	Preferring(nodes int) int
	// Prefer rates nodes that fit the pod given to Begin, and calls choose with one rating for each
	// node. Greater is better. choose returns the index of the node that the pod will probably get.
	// Ratings for later pods already count the pod on that node.
	Prefer(nodes []*Node, choose func(ratings []int64) int)
}

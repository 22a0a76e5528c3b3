package sched

// Candidate is a node that fitted a pod when its record was read. The record
// carries the version.
type Candidate struct {
	Node  *Node
	Score Score
	// At is the placement on this record. It is zero if it has to be computed when the
	// node is chosen (filter.Profile.Try says when).
	At Placement
}

// List is the candidates that a first-tier scheduler found for a pod, best first.
// It is empty where no node fitted.
type List struct {
	Pod        *Pod
	Candidates []Candidate
	FreedSeq   uint64 // the cluster's release counter when the nodes were read
	NarrowSeq  uint64 // the counter of changes that make unchanged nodes unfit, before that
	Results    any    // node-independent results of the filters; see Relay
}

// Decision is a pod and its placement.
type Decision struct {
	Pod *Pod
	At  Placement
}

// Scorer appends the score of a node for a pod that fits it, and returns the
// extended slice. Appending lets all scores of a list share one allocation.
type Scorer func([]int64, *Pod, *Node) []int64

// Filter adds the filters of another system to those of package filter. An instance
// handles one pod at a time and serves one goroutine.
type Filter interface {
	// Begin starts filtering for a pod with the current state of the cluster. It
	// returns the only nodes that may fit (nil for any), or the reason why none does.
	Begin(*Pod) (only []string, why Reason)
	// Check returns the reason why a node does not fit the pod given to Begin.
	Check(*Node) Reason
}

// Relay is a Filter that can resume the work of another instance. This is valid for
// pods whose fit on a node does not depend on other nodes.
type Relay interface {
	Filter
	// Results returns the results of Begin for the current pod. They are immutable.
	Results() any
	// Resume replaces Begin, given the results of another instance's Results for the
	// same pod. It is cheaper than Begin.
	Resume(pod *Pod, begun any) Reason
}

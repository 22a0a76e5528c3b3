package sched

// Candidate is a node that suited a pod when its record was read. The record
// tells the version.
type Candidate struct {
	Node  *Node
	Score Score
}

// List is what a first-tier scheduler found for a pod, best first. It is empty
// where no node suited.
type List struct {
	Pod        *Pod
	Candidates []Candidate
	FreedSeq   uint64 // what had ever been given back when the nodes were read
	Begun      any    // what the filters found out about the pod by itself; see Relay
}

// Decision is a pod that has been given its place.
type Decision struct {
	Pod *Pod
	At  Placement
}

// Scorer says how well a node suits a pod that fits it, in numbers that it appends to
// others, so that the scores of a list are one piece of memory.
type Scorer func([]int64, *Pod, *Node) []int64

// Filter is the filters of another system beside package filter's. An instance
// turns to one pod at a time and serves one goroutine.
type Filter interface {
	// Begin turns to a pod as the cluster is now: it names the only nodes that
	// may suit (nil for any), or says why none does.
	Begin(*Pod) (only []string, why Reason)
	// Check says why a node does not suit that pod.
	Check(*Node) Reason
}

// Relay is what a Filter may be besides: another instance goes on with a pod
// where one has begun, for as long as the pod's fit depends on no other node.
type Relay interface {
	Filter
	// Begun returns what Begin found out about the pod in hand. It is immutable.
	Begun() any
	// Resume turns to the pod of which another instance's Begun is that: in place
	// of Begin, and at less cost.
	Resume(pod *Pod, begun any) Reason
}

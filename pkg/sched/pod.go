package sched

import "github.com/numalet/numalet/pkg/podspec"

// Pod is what one pod asks of a node. It is immutable.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	Tenant    string // whom it is charged to

	// Requests are the pod's as Kubernetes counts them: the most that it needs
	// at one time of its life. Pods is 1.
	Requests Amounts

	// CPUPolicy says how the CPUs of each container in Exclusive fall on NUMA
	// nodes, unless the container itself names them (Want.PerNode). Exclusive is
	// in the order in which the containers run.
	CPUPolicy podspec.Policy
	Exclusive []podspec.Container
	Seed      uint64 // of the policy random

	GPUs GPUAsk

	Candidates []string // names of the only nodes allowed; nil means all
	Profile    string   // how nodes are looked for; "" is the default

	// Avoid reports whether the pod stays away from a node for now. It may be
	// called from any goroutine; nil means from none.
	Avoid func(node string) bool

	// Wait says why the pod, or as many of those that it stands for as have to start
	// together, has to wait now, whichever node would do, such as for a quota. Any
	// goroutine may call it, whatever it has locked; nil means for nothing.
	Wait func(*Pod) Reason

	// Across says that whether a node fits depends on other nodes too, such as
	// with affinity between pods: an equal version then proves nothing.
	Across bool

	// Gang is what the pod starts together with, or nil. A pod in a queue stands for
	// all of its Members.
	Gang *Gang

	// Foreign is an adapter's own immutable view of the pod.
	Foreign any
}

// Waits is what Wait says.
func (p *Pod) Waits() Reason {
	if p.Wait == nil {
		return Reason{}
	}
	return p.Wait(p)
}

// String returns "namespace/name", or the name where there is no namespace.
func (p *Pod) String() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// GPUAsk asks for cards of one node: Count cards, Milli of each.
type GPUAsk struct {
	Count int
	Milli MilliGPU
	Types []string // allowed types; nil means any
	Group string   // the only one that they may be given from; "" where there are several, or none

	// Part is what parts of cards are asked for, where Count is 0. As many of a node's
	// are free as Requests count.
	Part PartAsk

	// Wants says which containers they are for, in the order in which these run.
	Wants []GPUWant
	// Offer says which cards of a node the pod may choose from, once the node has room
	// for all else. It may be called from any goroutine; nil is all that suit.
	Offer func(*Node) Offer
}

// PartAsk asks for Count of an extended resource, which counts parts of cards of one
// kind. Types of those end in "-" and Kind, such as "SHARED" or "MIG-1g.10gb".
type PartAsk struct {
	Resource string
	Kind     string
	Count    int
}

// GPUWant is how many cards one container wants.
type GPUWant struct {
	Container string
	Kind      podspec.Kind
	Count     int
}

// Offer is the cards of one node that a pod may choose from: at least as many as it
// asks for, or a reason why there are none.
type Offer struct {
	GPUs  []GPUShare
	Group string // that they are of, or ""
	Over  int    // how many more than asked for; of equal nodes the one with the fewest comes first
	Why   Reason
}

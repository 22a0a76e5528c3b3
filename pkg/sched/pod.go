package sched

import "github.com/numalet/numalet/pkg/podspec"

// Pod is what one pod requests of a node. It is immutable.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	Tenant    string // the tenant that is charged

	// Requests is the pod's effective request as Kubernetes computes it: the maximum
	// over the pod's life. Pods is 1.
	Requests Amounts

	// CPUPolicy distributes the CPUs of each container in Exclusive over NUMA nodes, unless the
	// container names its NUMA nodes itself (podspec.Container.PerNode). Exclusive is in the order in
	// which the containers run.
	CPUPolicy podspec.Policy
	Exclusive []podspec.Container
	Seed      uint64 // of the policy random

	GPUs GPURequest

	Candidates []string // names of the only nodes allowed; nil means all
	Profile    string   // name of the scheduling profile; "" is the default

	// Avoid reports whether the pod avoids a node for now. Any goroutine may call it;
	// nil means that the pod avoids no node.
	Avoid func(node string) bool

	// Wait returns the reason why the pod must wait on every node, such as an
	// exhausted quota. For a gang it covers as many pods as must start together. Any
	// goroutine may call it, with any lock held; nil means that the pod need not wait,
	// and is subject to no quota.
	Wait func(*Pod) Reason

	// Across is set if the pod's fit on a node depends on other nodes too, for example
	// because of inter-pod affinity. An unchanged version then does not prove that the
	// node still fits.
	Across bool

	// Reserves is set if the second tier's filters reserve something for the pod that plans of gangs
	// leave out, such as volumes. Across is then set, too.
	Reserves bool

	// Admits reports whether the pod's own rules about single nodes admit a node, such as
	// its node selector and tolerations; nil means that they are not known. Filters check
	// these rules in any case. Pods with equal NodeRules admit the same nodes. Any goroutine
	// may call Admits, with any lock held.
	NodeRules string
	Admits    func(*Node) bool

	// Topics name what may make the pod fit besides resources that become free on a node,
	// such as other pods with a label. They matter only for pods with Across.
	Topics []Topic

	// Lacks reports whether no node fits the pod however much becomes free, until something comes
	// under one of its Topics, such as a required neighbor. Any goroutine may call it, with any lock
	// held; nil means that this is not known. A pod of a gang may get what it lacks from the others.
	Lacks func() bool

	// Gang is the pod's gang, or nil. A queued pod represents all Members of its gang.
	Gang *Gang

	// Foreign is an adapter's own immutable view of the pod.
	Foreign any
}

// LacksNeighbor returns the result of Lacks. It is false where Lacks is nil, and for a pod of a gang.
func (p *Pod) LacksNeighbor() bool { return p.Gang == nil && p.Lacks != nil && p.Lacks() }

// Waits returns the result of Wait, or no reason where Wait is nil.
func (p *Pod) Waits() Reason {
	if p.Wait == nil {
		return Reason{}
	}
	return p.Wait(p)
}

// String returns "namespace/name", or the name if there is no namespace.
func (p *Pod) String() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// GPURequest is a request for GPUs of one node: Count GPUs, Milli of each.
type GPURequest struct {
	Count int
	Milli MilliGPU
	Types []string // allowed types; nil means any
	Group string   // the only GPU group that may provide them; "" where several may, or none

	// Part is the request for parts of GPUs, used where Count is 0. Requests counts
	// these parts too, and they are matched against the node's free amounts.
	Part GPUPartRequest

	// PerContainer lists the containers that use the GPUs, in the order in which they run.
	PerContainer []ContainerGPUs
	// Offer returns the GPUs of a node that the pod may choose from. It is called
	// after the node fits in all other respects. Any goroutine may call it; nil means
	// all GPUs that fit.
	Offer func(*Node) Offer
}

// GPUPartRequest is a request for Count of an extended resource that counts parts of GPUs
// of one kind. The types of such parts end in "-" and Kind, such as "SHARED" or
// "MIG-1g.10gb".
type GPUPartRequest struct {
	Resource string
	Kind     string
	Count    int
}

// ContainerGPUs is how many GPUs one container requests.
type ContainerGPUs struct {
	Container string
	Kind      podspec.Kind
	Count     int
}

// Offer is the GPUs of one node that a pod may choose from. There are at least as
// many as the pod requests, or Why has the reason why there are none.
type Offer struct {
	GPUs  []GPUShare
	Group string // the GPU group of the GPUs, or ""
	Over  int    // GPUs beyond the request; fewer is better among otherwise equal nodes
	Why   Reason
}

package sched

import (
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
)

// Pod is what one pod requests of a node. It is immutable, except for what Effort points to.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	Tenant    string // the tenant that is charged for what the pod holds

	// Requests is the pod's effective request as Kubernetes computes it: the most that its
	// containers request at one time. Requests.Pods is 1.
	Requests Amounts

	// CPUPolicy distributes the CPUs of each container in Exclusive over NUMA nodes, unless the
	// container names its NUMA nodes itself (podspec.Container.PerNode). Exclusive has the
	// containers with exclusive CPUs, in the order in which they run.
	CPUPolicy podspec.Policy
	Exclusive []podspec.Container
	Seed      uint64 // seed for the choice between equally good NUMA nodes, if CPUPolicy is podspec.Random

	// Effort limits the searches for a distribution of the exclusive CPUs over NUMA nodes. It is nil
	// (no such limit) unless this Pod is a copy that Within made.
	Effort *numaplan.Effort

	GPUs GPURequest

	Candidates []string // names of the only nodes on which the pod may be placed; nil means that it may be placed on any node
	Profile    string   // name of the scheduling profile; "" is the default

	// Avoid reports whether the pod avoids a node for now. Any goroutine may call Avoid. If Avoid is
	// nil, the pod avoids no node.
	Avoid func(node string) bool

	// Wait returns the reason why the pod may not be placed on any node for now, such as an
	// exhausted quota. For a gang, Wait considers the requests of all pods that must start
	// together. Any goroutine may call Wait, with any lock held. If Wait is nil, the pod need not
	// wait and is subject to no quota.
	Wait func(*Pod) Reason

	// Across is set if the pod's fit on a node depends on other nodes too, for example because of
	// inter-pod affinity. Such a pod may no longer fit a node although the version of the node's
	// record is unchanged.
	Across bool

	// Reserves is set if the filters reserve something for the pod when the pod is assigned to a
	// node, for example volumes. Across is then set, too. The plan of a gang's nodes does not
	// consider what the filters reserve for its pods.
	Reserves bool

	// Admits reports whether the pod's own rules admit a node. These are rules that depend only on
	// the node itself, such as the node selector and tolerations. If Admits is nil, the rules are
	// not known here, but the filters still check them. Any goroutine may call Admits, with any
	// lock held. NodeRules is a text form of these rules: pods with equal NodeRules admit the same
	// nodes.
	NodeRules string
	Admits    func(*Node) bool

	// Topics name the kinds of events after which the pod may fit a node although no resources
	// became free, such as the arrival of a pod with a certain label.
	Topics []Topic

	// Lacks reports whether the pod lacks something other than free resources, for example another
	// pod that its required affinity selects. No node then fits until an event with one of Topics
	// occurs. For a pod of a gang, the other pod may be one of the same gang, which is placed
	// together with it. So for a pod of a gang, the result is no reason to wait, and LacksNeighbor
	// ignores it. Any goroutine may call Lacks, with any lock held. If Lacks is nil, it is not
	// known whether the pod lacks something.
	Lacks func() bool

	// Gang is the pod's gang, or nil. If Gang.Members is not empty, this Pod is not a single pod,
	// but represents all these pods in the queue.
	Gang *Gang

	// Foreign is immutable data about the pod. Only the adapter (the code that made this Pod from a
	// Kubernetes pod) reads it.
	Foreign any
}

// LacksNeighbor returns the result of Lacks. It returns false if Lacks is nil, and for a pod of a
// gang, because the pod that it lacks may be one of the same gang.
func (p *Pod) LacksNeighbor() bool { return p.Gang == nil && p.Lacks != nil && p.Lacks() }

// The method Within returns a copy of the pod for checks of many nodes. These checks together try
// only as many ways to distribute the exclusive CPUs as the Effort allows. When the Effort is used
// up, only a few ways are tried on each further node. If none of these few ways fits, but there are
// others, the node is refused with the code SearchCut. If no container of the pod has exclusive
// CPUs, Within returns the pod itself.
func (p *Pod) Within(e *numaplan.Effort) *Pod {
	if len(p.Exclusive) == 0 {
		return p
	}
	limited := *p
	limited.Effort = e
	return &limited
}

// Waits returns the result of Wait, or no reason if Wait is nil.
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

// GPURequest is a request for Count GPUs of one node, and for Milli thousandths of each of these
// GPUs.
type GPURequest struct {
	Count int
	Milli MilliGPU
	Types []string // allowed types; nil means any
	Group string   // the only GPU group (GPUs that belong to some tenants) that may provide the GPUs; "" if there is no such group, or more than one

	// Part is the request for parts of GPUs. It is used if Count is 0. Pod.Requests also counts
	// these parts, as an extended resource that is compared with the node's free amounts.
	Part GPUPartRequest

	// PerContainer lists the containers that use the GPUs, in the order in which they run.
	PerContainer []ContainerGPUs
	// Offer returns those GPUs of a node that GPU groups and quotas allow for the pod. Any
	// goroutine may call Offer, also for a node that does not fit the pod. If Offer is nil, any
	// GPUs that fit may be chosen.
	Offer func(*Node) Offer
}

// GPUPartRequest is a request for Count units of an extended resource. Each unit is a part of a
// GPU, and all units are of one kind. The type of such a part is the GPU's model, "-" and Kind,
// which is for example "SHARED" or "MIG-1g.10gb".
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

// Offer has those GPUs of one node that may be chosen for a pod. If there are fewer such GPUs than
// the pod requests, GPUs is empty and Why has the reason.
type Offer struct {
	GPUs  []GPUShare
	Group string // the GPU group of the GPUs, or ""
	Over  int    // how many GPUs of the group would stay free on the node after the pod was placed; a node with a smaller number is preferred
	Why   Reason
}

package v1alpha1

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/podspec"
)

// Form is how a pod asks for exclusive CPUs.
type Form uint8

// The forms of a request. A pod that uses both PolicyForm and ExplicitForm is refused.
const (
	None         Form = iota // the pod does not ask for exclusive CPUs; all its containers use shared CPUs
	PolicyForm               // by the annotation numalet.dev/cpu-policy
	ExplicitForm             // by limits numalet.dev/numa<ID>-cpu
)

// String returns "none", "policy" or "explicit". The agent's flag --cpu-request-form has
// the values "policy" and "explicit", too.
func (f Form) String() string { return [...]string{"none", "policy", "explicit"}[f] }

// The values of the annotation numalet.dev/cpu-policy. The method String of
// podspec.Policy returns the same names. An empty value has the same meaning as
// PolicyRandom.
const (
	PolicySpread = "spread" // evenly over every NUMA node that has CPUs
	PolicySingle = "single" // all on one NUMA node
	PolicyRandom = "random" // Numalet chooses the NUMA nodes
)

// The values of the annotation numalet.dev/memory-policy.
const (
	MemoryLocal = "local" // bind memory to the NUMA node of the CPUs
	MemoryAny   = "any"   // do not bind memory
)

// The values of the annotation numalet.dev/isolation. With both values, other processes and
// movable interrupts are kept off the pod's exclusive CPUs, as far as the kernel can do this.
// The values differ only in the load balancing within a container.
const (
	IsolationFull         = "full"          // also no load balancing: the kernel does not move the container's threads between its exclusive CPUs
	IsolationLoadBalanced = "load-balanced" // the kernel may move the container's threads between its exclusive CPUs
)

// MaxExclusiveContainers is how many containers with exclusive CPUs a pod may have. The limit keeps
// scheduling fast: the time to place a pod on a node grows at least with the square of this number,
// and init containers do not need more CPUs the more there are.
const MaxExclusiveContainers = 64

// CPURequest is a pod's request for exclusive CPUs. The zero value means that the pod
// requests none.
//
// +kubebuilder:object:generate=false
type CPURequest struct {
	Form   Form
	Policy podspec.Policy // the CPU policy, if Form is PolicyForm; otherwise podspec.Random
	// Containers are the containers that get exclusive CPUs, in the order in which they
	// start: first init containers and sidecars, then app containers, each in the order
	// of the pod's spec.
	Containers []podspec.Container
	Isolated   bool // the pod has the annotation numalet.dev/isolation
	// Placed means that the pod has the annotation numalet.dev/placement, with which the
	// controller says how many CPUs of each NUMA node each container gets. An agent that
	// works without a controller refuses such a pod (see RefusePlacement), because then
	// somebody else has written the annotation.
	Placed bool
}

// ReadCPURequest reads and validates a pod's request for exclusive CPUs. If the pod
// requests no exclusive CPUs, the result has the form None. The error for an invalid
// request is a *Refusal. The pod may lack the defaults that the API server sets: a
// missing request of a resource counts as equal to its limit. Ephemeral containers
// cannot have resources, so they always use shared CPUs.
func ReadCPURequest(pod *corev1.Pod) (CPURequest, error) {
	_, placed := pod.Annotations[AnnotationPlacement]
	request := CPURequest{Placed: placed}
	if err := checkNames(pod); err != nil {
		return request, err
	}
	containers := InRunOrder(pod)
	explicit := slices.ContainsFunc(containers, PodContainer.requestsExplicitly)
	_, policy := pod.Annotations[AnnotationCPUPolicy]
	var err error
	switch {
	case policy && explicit:
		return request, refuse(BothForms, "", "the pod has the annotation %s and limits such as %s; keep one of the two",
			AnnotationCPUPolicy, NUMAResource(0))
	case policy:
		request.Form = PolicyForm
		request.Policy, request.Containers, err = readPolicyForm(pod, containers)
		_, request.Isolated = pod.Annotations[AnnotationIsolation]
	case explicit:
		request.Form = ExplicitForm
		request.Containers, err = readExplicitForm(pod, containers)
	default:
		err = checkNoPolicyOptions(pod)
	}
	if err == nil && len(request.Containers) > MaxExclusiveContainers {
		err = refuse(TooManyContainers, "", "the pod asks for exclusive CPUs for %d containers, and at most %d are read; give the others fractional cpu limits, or split the pod",
			len(request.Containers), MaxExclusiveContainers)
	}
	if err != nil {
		request.Containers, request.Isolated = nil, false
	}
	return request, err
}

// Exclusive returns the request of the container with this name. It returns false if
// the container uses shared CPUs.
func (r CPURequest) Exclusive(name string) (podspec.Container, bool) {
	for _, container := range r.Containers {
		if container.Name == name {
			return container, true
		}
	}
	return podspec.Container{}, false
}

// checkNoPolicyOptions returns an error if a pod without the annotation
// numalet.dev/cpu-policy has an annotation that is allowed only together with it.
func checkNoPolicyOptions(pod *corev1.Pod) error {
	for _, name := range []string{AnnotationSharedContainers, AnnotationMemoryPolicy, AnnotationIsolation} {
		if _, ok := pod.Annotations[name]; ok {
			return refuse(PolicyMissing, "", "the pod has the annotation %s, which means something only beside %s; add that one or remove this one",
				name, AnnotationCPUPolicy)
		}
	}
	return nil
}

// RefusePlacement returns the Refusal of a pod with the annotation numalet.dev/placement
// on a node whose agent works without a controller.
func RefusePlacement() error {
	return refuse(PlacementForged, "", "the pod carries the annotation %s, which only the numalet controller may set, and none serves this node; remove it",
		AnnotationPlacement)
}

// Reason says in one CamelCase word why a pod is refused. The event about the refusal
// has this word as its reason, and the metric of refusals has it as a label.
type Reason string

// The reasons why a pod is refused.
const (
	BothForms            Reason = "BothForms"            // the pod has a CPU policy and limits per NUMA node
	CountMismatch        Reason = "CountMismatch"        // limits per NUMA node do not add up to the cpu limit
	NoExclusiveContainer Reason = "NoExclusiveContainer" // a CPU policy, but no container with an integer cpu limit
	NotGuaranteed        Reason = "NotGuaranteed"        // the pod is not of the QoS class Guaranteed
	PlacementForged      Reason = "PlacementForged"      // the annotation numalet.dev/placement on a pod of a node without a controller
	PlacementInvalid     Reason = "PlacementInvalid"     // a placement that cannot be read or does not match the pod
	PlacementNewer       Reason = "PlacementNewer"       // a placement by a later release of the controller, which this release cannot apply
	PodLevelResources    Reason = "PodLevelResources"    // exclusive CPUs together with pod-level resources (spec.resources)
	PolicyMissing        Reason = "PolicyMissing"        // an annotation that requires a CPU policy, without a CPU policy
	TooManyContainers    Reason = "TooManyContainers"    // more than 64 containers with exclusive CPUs
	UnknownAnnotation    Reason = "UnknownAnnotation"    // an unknown annotation under numalet.dev/, or an annotation that was set as a label
	UnknownContainer     Reason = "UnknownContainer"     // shared-containers names a container that the pod does not have
	UnknownIsolation     Reason = "UnknownIsolation"     // an unknown value of numalet.dev/isolation
	UnknownMemoryPolicy  Reason = "UnknownMemoryPolicy"  // a memory policy that is unknown, or not available with the CPU policy
	UnknownPolicy        Reason = "UnknownPolicy"        // an unknown CPU policy
)

// Refusal is the error for a pod whose request cannot be served.
//
// +kubebuilder:object:generate=false
type Refusal struct {
	Reason    Reason
	Container string // the container that is the cause; "" if it is the whole pod
	Message   string // for the author of the pod: the cause, and what to change
}

// Error returns r.Message.
func (r *Refusal) Error() string { return r.Message }

func refuse(reason Reason, container, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Container: container, Message: fmt.Sprintf(format, args...)}
}

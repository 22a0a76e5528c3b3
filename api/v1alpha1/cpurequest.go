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
	PolicyForm               // the pod asks with the annotation numalet.dev/cpu-policy
	ExplicitForm             // the pod asks with limits numalet.dev/numa<ID>-cpu
)

// String returns "none", "policy" or "explicit". The agent's flag --cpu-request-form has
// the values "policy" and "explicit", too.
func (f Form) String() string { return [...]string{"none", "policy", "explicit"}[f] }

// The values of the annotation numalet.dev/cpu-policy, which says how the CPUs of each
// container are distributed over NUMA nodes. The method String of podspec.Policy returns
// the same names. An empty value has the same meaning as PolicyRandom.
const (
	PolicySpread = "spread" // evenly over every NUMA node that has CPUs
	PolicySingle = "single" // all on one NUMA node
	PolicyRandom = "random" // Numalet chooses the NUMA nodes
)

// The values of the annotation numalet.dev/memory-policy.
const (
	MemoryLocal = "local" // bind the memory of a container to the NUMA node of its CPUs
	MemoryAny   = "any"   // do not bind the memory of containers
)

// The values of the annotation numalet.dev/isolation. With either value, other processes and
// movable interrupts are kept off the pod's exclusive CPUs, as far as the kernel can do this.
// The values differ only in the load balancing within a container.
const (
	IsolationFull         = "full"          // the kernel does not move the container's threads between its exclusive CPUs
	IsolationLoadBalanced = "load-balanced" // the kernel may move the container's threads between its exclusive CPUs
)

// MaxExclusiveContainers is how many containers with exclusive CPUs a pod may have. The limit keeps
// scheduling fast, because the time to place a pod on a node grows at least with the square of this
// number. Without the limit, a pod could have any number of init containers with exclusive CPUs,
// because init containers run one after another and can use the same CPUs.
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

// RefusePlacement returns the Refusal of a pod that has the annotation numalet.dev/placement,
// although the agent of its node works without a controller.
func RefusePlacement() error {
	return refuse(PlacementForged, "", "the pod carries the annotation %s, which only the numalet controller may set, and none serves this node; remove it",
		AnnotationPlacement)
}

// Reason says in one CamelCase word why a pod is refused. The word is the value of the
// label "reason" of the metric numalet_refusals_total.
type Reason string

// The reasons why a pod is refused.
const (
	BothForms            Reason = "BothForms"            // the pod has a CPU policy and limits per NUMA node
	CountMismatch        Reason = "CountMismatch"        // the limits per NUMA node of a container do not add up to its cpu limit
	NoExclusiveContainer Reason = "NoExclusiveContainer" // the pod has a CPU policy, but each container lacks an integer cpu limit or is in the annotation shared-containers
	NotGuaranteed        Reason = "NotGuaranteed"        // the pod is not of the QoS class Guaranteed
	PlacementForged      Reason = "PlacementForged"      // the pod has the annotation numalet.dev/placement, but no controller serves the node
	PlacementInvalid     Reason = "PlacementInvalid"     // the placement cannot be read, or does not match the pod's request
	PlacementNewer       Reason = "PlacementNewer"       // a later release of the controller made the placement, and the agent's release cannot apply it
	PodLevelResources    Reason = "PodLevelResources"    // the pod requests exclusive CPUs, and has pod-level resources (spec.resources)
	PolicyMissing        Reason = "PolicyMissing"        // the pod has an annotation that requires a CPU policy, but no CPU policy
	TooManyContainers    Reason = "TooManyContainers"    // more than 64 containers of the pod request exclusive CPUs
	UnknownAnnotation    Reason = "UnknownAnnotation"    // the pod has an unknown annotation under numalet.dev/, or has the name of an annotation as a label
	UnknownContainer     Reason = "UnknownContainer"     // the annotation shared-containers lists a container that the pod does not have
	UnknownIsolation     Reason = "UnknownIsolation"     // the annotation numalet.dev/isolation has an unknown value
	UnknownMemoryPolicy  Reason = "UnknownMemoryPolicy"  // the memory policy is unknown, or not available with the pod's CPU policy
	UnknownPolicy        Reason = "UnknownPolicy"        // the CPU policy is unknown
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

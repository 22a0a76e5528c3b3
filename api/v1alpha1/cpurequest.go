package v1alpha1

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/podspec"
)

// Form is how a pod asks for exclusive CPUs.
type Form uint8

// The forms of a request. A pod uses one of them; both at once are refused.
const (
	None         Form = iota // every container is shared
	PolicyForm               // annotation numalet.dev/cpu-policy
	ExplicitForm             // limits numalet.dev/numa<ID>-cpu
)

// String returns "none", "policy" or "explicit", the values of the flag --cpu-request-form.
func (f Form) String() string { return [...]string{"none", "policy", "explicit"}[f] }

// The values of the annotation numalet.dev/cpu-policy, as podspec.Policy reads
// them. An empty value is random.
const (
	PolicySpread = "spread" // evenly over every NUMA node that has CPUs
	PolicySingle = "single" // all on one NUMA node
	PolicyRandom = "random" // the system chooses
)

// The values of the annotation numalet.dev/memory-policy.
const (
	MemoryLocal = "local" // bind memory to the NUMA node of the CPUs
	MemoryAny   = "any"   // leave memory alone
)

// IsolationFull is the value of the annotation numalet.dev/isolation.
const IsolationFull = "full"

// CPURequest is a pod's request for exclusive CPUs. The zero value is that of a pod
// without a request.
//
// +kubebuilder:object:generate=false
type CPURequest struct {
	Form   Form
	Policy podspec.Policy // of PolicyForm, else random
	// Containers are the exclusive ones, in the order in which they start: init
	// containers and sidecars in spec order, then app containers in spec order.
	Containers []podspec.Container
	Isolated   bool // interrupts and unbound workqueues stay off the CPUs
	// Placed means that the pod has the annotation numalet.dev/placement. A program
	// that applies no placements refuses such a pod with RefusePlacement.
	Placed bool
}

// ReadCPURequest reads and validates the request of a pod, which may be none. The error
// for an invalid request is a *Refusal. The API server need not have set the defaults of
// the pod: a missing request defaults to the limit. Ephemeral containers cannot have
// resources and are always shared. O(containers).
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
		request.Isolated = pod.Annotations[AnnotationIsolation] == IsolationFull
	case explicit:
		request.Form = ExplicitForm
		request.Containers, err = readExplicitForm(pod, containers)
	default:
		err = checkNoPolicyOptions(pod)
	}
	if err != nil {
		request.Containers, request.Isolated = nil, false
	}
	return request, err
}

// Exclusive returns the request of a container by name, and false if it is shared.
func (r CPURequest) Exclusive(name string) (podspec.Container, bool) {
	for _, container := range r.Containers {
		if container.Name == name {
			return container, true
		}
	}
	return podspec.Container{}, false
}

// checkNoPolicyOptions refuses annotations that require a policy.
func checkNoPolicyOptions(pod *corev1.Pod) error {
	for _, name := range []string{AnnotationSharedContainers, AnnotationMemoryPolicy, AnnotationIsolation} {
		if _, ok := pod.Annotations[name]; ok {
			return refuse(PolicyMissing, "", "the pod has the annotation %s, which means something only beside %s; add that one or remove this one",
				name, AnnotationCPUPolicy)
		}
	}
	return nil
}

// RefusePlacement returns the refusal of a pod with a placement on a node without a
// controller.
func RefusePlacement() error {
	return refuse(PlacementForged, "", "the pod carries the annotation %s, which only the numalet controller may set, and none serves this node; remove it",
		AnnotationPlacement)
}

// Reason is the kind of a refusal: one CamelCase word, for the reason of an event and
// for a metric label.
type Reason string

// Why a request is refused.
const (
	BothForms            Reason = "BothForms"            // a policy and explicit limits in one pod
	CountMismatch        Reason = "CountMismatch"        // explicit limits do not add up to the cpu limit
	NoExclusiveContainer Reason = "NoExclusiveContainer" // a policy, but no container with an integer cpu limit
	NotGuaranteed        Reason = "NotGuaranteed"        // a request differs from its limit, or is missing
	PlacementForged      Reason = "PlacementForged"      // a decision that no controller made
	PlacementInvalid     Reason = "PlacementInvalid"     // a decision that does not match the pod
	PlacementNewer       Reason = "PlacementNewer"       // a decision of a controller whose release this node does not understand
	PodLevelResources    Reason = "PodLevelResources"    // exclusive CPUs together with pod-level resources (spec.resources)
	PolicyMissing        Reason = "PolicyMissing"        // an annotation that requires a policy, without a policy
	UnknownAnnotation    Reason = "UnknownAnnotation"    // an unknown annotation or label under numalet.dev/
	UnknownContainer     Reason = "UnknownContainer"     // shared-containers names a container that the pod does not have
	UnknownIsolation     Reason = "UnknownIsolation"     // an unknown isolation
	UnknownMemoryPolicy  Reason = "UnknownMemoryPolicy"  // a memory policy that is unknown, or not available
	UnknownPolicy        Reason = "UnknownPolicy"        // an unknown policy
)

// Refusal is the error for a pod whose request is not served.
//
// +kubebuilder:object:generate=false
type Refusal struct {
	Reason    Reason
	Container string // "" if it concerns the whole pod
	Message   string // for the author of the pod: the cause and the remedy
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

func refuse(reason Reason, container, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Container: container, Message: fmt.Sprintf(format, args...)}
}

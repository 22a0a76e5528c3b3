package node

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// kind is what a container gets, such as shared CPUs or a refusal.
type kind string

const (
	sharedCPUs  kind = "shared CPUs"
	byGrant     kind = "the CPUs of an earlier grant" // or the shared CPUs, if the grant has none for the container
	byPlacement kind = "exclusive CPUs by placement"  // numalet-controller decided how many CPUs of each NUMA node the container gets
	byPolicy    kind = "exclusive CPUs by policy"     // the node applies the pod's CPU policy
	byLimits    kind = "exclusive CPUs by limits"     // the pod has limits per NUMA node
	byCgroup    kind = "exclusive CPUs by cgroup"     // a static pod without a mirror pod: the agent does not know its spec, and reads the number of CPUs from the container's cgroup limits
	awaitsPod   kind = "unknown until its pod is known"
	refused     kind = "refused"
)

// class is the decision about what a container gets.
type class struct {
	kind    kind
	request *pool.Pod         // for exclusive CPUs: what the ledger must reserve; otherwise nil
	why     *v1alpha1.Refusal // why the container is refused; nil for all other kinds
}

// subject is a container, with everything that decides what the container gets.
type subject struct {
	workload.Container
	cfg     Config
	pod     *corev1.Pod // nil if the pod informer does not have the pod
	granted bool        // an earlier grant says which CPUs the container gets
	// qosCgroup is the cgroup of a QoS class that limits the container to the shared CPUs, or "".
	qosCgroup string
	runs      bool // the container may already be running; a refusal then cannot prevent its creation
	// groupOf returns the GPU group that reserves a GPU (see Dependencies.GroupOf). notIsolated
	// returns an error if the node cannot isolate the CPUs of a request.
	groupOf     func(id string) (group string, known bool)
	notIsolated func(v1alpha1.CPURequest) error
}

// classify decides what a container gets. It changes nothing, and does not wait. If the result is
// awaitsPod, the agent needs the Pod object, which it does not know yet. The caller may then wait
// for the Pod object and call classify again.
func classify(s subject) class {
	if err := s.checkNew(); err != nil {
		return s.refused(err)
	}
	asks := s.asks()
	switch {
	case s.granted: // even if a new pod with this request would be refused now
		return class{kind: byGrant}
	case s.cfg.Disabled && asks:
		return s.refused(refuse(SwitchedOff, "exclusive CPUs are switched off on this node; delete the pod and let it run on a node labelled %s=true",
			v1alpha1.LabelExclusiveCPUs))
	case s.cfg.Disabled, s.pod == nil && !asks:
		return class{kind: sharedCPUs}
	case s.pod == nil && isStatic(s.Sandbox):
		return s.ofStatic()
	case s.pod == nil:
		return class{kind: awaitsPod}
	}
	pod := withSandboxAnnotations(s.pod, s.Sandbox)
	request, err := v1alpha1.ReadCPURequest(pod)
	switch {
	case err != nil:
		return s.refused(err)
	case request.Form == v1alpha1.None && !asks:
		return class{kind: sharedCPUs}
	}
	return s.ofRequest(pod, request)
}

// asks reports whether the annotations of the container or of its sandbox show that the pod may
// request exclusive CPUs. For two kinds of pods, the result is false although their authors want
// exclusive CPUs. The first kind has a limit of a resource such as numalet.dev/numa1-cpu, and
// another device plugin serves this resource: that device plugin adds no annotations. The second
// kind has labels that the pod's author wrote by mistake instead of annotations. For pods of both
// kinds, classify reads the request if the pod is known, but does not wait for the pod.
func (s subject) asks() bool {
	return len(v1alpha1.ParseAllocated(s.Annotations)) > 0 || v1alpha1.MayRequest(s.Sandbox.Annotations) && !s.placedWithoutCPUs()
}

// checkNew refuses a container if its pod has the placement annotation, but numalet-controller
// cannot have set it. It also refuses the container if the container must not have the GPUs that
// the kubelet allocated to it. It refuses no container that may already be running.
func (s subject) checkNew() error {
	if s.runs {
		return nil
	}
	return cmp.Or(s.checkPlacer(), s.checkGPUs(), s.checkGroups())
}

// ofRequest decides what the container gets. The parameter `request` is the valid request of its
// pod.
func (s subject) ofRequest(pod *corev1.Pod, request v1alpha1.CPURequest) class {
	if err := cmp.Or(s.checkQoS(), s.notIsolated(request)); err != nil {
		return s.refused(err)
	}
	placed, err := s.placed(pod, request)
	if err != nil {
		return s.refused(err)
	}
	exclusive, err := s.admit(request)
	switch {
	case err != nil:
		return s.refused(err)
	case !exclusive:
		return class{kind: sharedCPUs}
	}
	return class{kind: s.by(request), request: poolPod(s.Sandbox.Pod.UID, placed)}
}

// admit reports whether the container gets exclusive CPUs. It returns an error if this node does
// not serve the form of the pod's request (a CPU policy, or limits by NUMA node). It also returns
// an error if the container's limits do not match the device tokens that the kubelet allocated to
// the container. A token stands for one CPU of a NUMA node.
func (s subject) admit(request v1alpha1.CPURequest) (exclusive bool, err error) {
	if request.Form != v1alpha1.None && request.Form != s.cfg.RequestForm && !s.cfg.Controller {
		return false, refuse(FormNotServed, "the pod requests CPUs in the %s form, but this node serves the %s form (--cpu-request-form=%s); use that form, or run the pod on a node that serves its own",
			request.Form, s.cfg.RequestForm, s.cfg.RequestForm)
	}
	tokens := v1alpha1.ParseAllocated(s.Annotations)
	want, exclusive := request.Exclusive(s.Name)
	if len(tokens)+len(want.PerNode) > 0 && !maps.Equal(tokens, want.PerNode) {
		return false, refuse(NotAsked, "the kubelet allocated %v exclusive CPUs per NUMA node to container %q, whose limits say %v; delete the pod, so that it is made and allocated anew (if that does not help, another device plugin serves these resources: see /readyz of numalet-deviceplugin)",
			tokens, s.Name, want.PerNode)
	}
	return exclusive, nil
}

// The method `by` returns the kind of a container with exclusive CPUs. The kind says who decides
// from which NUMA nodes the CPUs come.
func (s subject) by(request v1alpha1.CPURequest) kind {
	switch {
	case s.cfg.isPlaced(s.Sandbox):
		return byPlacement
	case request.Form == v1alpha1.ExplicitForm:
		return byLimits
	}
	return byPolicy
}

// refused returns the class of a container that is refused for the reason err. If
// numalet-controller placed the pod and a retry cannot resolve err, the refusal makes reportRefusal
// set the pod to Failed. A refusal of a container that may already be running never does so.
func (s subject) refused(err error) class {
	why := asRefusal(err)
	permanent := slices.Contains([]v1alpha1.Reason{v1alpha1.PlacementInvalid, SwitchedOff, NotIsolated}, why.Reason)
	if permanent && !s.runs && s.cfg.isPlaced(s.Sandbox) {
		why = rejection(s.pod, why)
	}
	return class{kind: refused, why: why}
}

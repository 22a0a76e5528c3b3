package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// isPlaced reports whether numalet-controller placed the sandbox's pod. The controller places no
// static pods.
func (c Config) isPlaced(s workload.Sandbox) bool {
	_, claimed := s.Annotations[v1alpha1.AnnotationPlacement]
	return claimed && c.Controller && !isStatic(s)
}

// checkPlacer refuses a pod whose placement annotation cannot come from numalet-controller. On a
// node without numalet-controller, no pod may have this annotation. A static pod may never have
// it, because no scheduler binds static pods.
func (s subject) checkPlacer() error {
	if _, claimed := s.Sandbox.Annotations[v1alpha1.AnnotationPlacement]; claimed && !s.cfg.isPlaced(s.Sandbox) {
		return v1alpha1.RefusePlacement()
	}
	return nil
}

// placement returns the placement of a pod that numalet-controller placed. It returns false for any
// other pod. It also returns false for an invalid placement, for which ofRequest refuses the pod.
func (s subject) placement() (v1alpha1.Placement, bool) {
	if !s.cfg.isPlaced(s.Sandbox) {
		return v1alpha1.Placement{}, false
	}
	p, err := v1alpha1.ParsePlacement(s.Sandbox.Annotations[v1alpha1.AnnotationPlacement])
	return p, err == nil
}

// placedWithoutCPUs reports whether the pod's placement has only GPUs, so that the pod needs no
// exclusive CPUs.
func (s subject) placedWithoutCPUs() bool {
	_, policy := s.Sandbox.Annotations[v1alpha1.AnnotationCPUPolicy]
	p, placed := s.placement()
	return placed && !policy && p.CPUs() == 0
}

// placed returns the request with the numbers of CPUs per NUMA node that numalet-controller decided
// on. These numbers are in the pod's placement annotation. If the controller did not place the pod,
// the result is the unchanged request. If the pod was resized after its placement, the result still
// has the numbers of the placement. Each container of such a pod gets its new size when the
// container is created (see the method `fit`).
func (s subject) placed(pod *corev1.Pod, request v1alpha1.CPURequest) (v1alpha1.CPURequest, error) {
	if !s.cfg.isPlaced(s.Sandbox) {
		return request, nil
	}
	if pod.Generation > 1 { // the pod may have been resized after its placement was made
		if p, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement]); err == nil {
			request = request.Sized(p)
		}
	}
	p, err := v1alpha1.ReadPlacement(pod, request)
	return request.At(p), err
}

// reserveOrReject reserves CPUs for a container. If numalet-controller placed the pod and the
// CPUs are not free, it returns a refusal for which reportRefusal sets the pod to Failed (a
// rejection). It does not reject the pod while an ended pod or a shrunk container is about to
// release CPUs. A rejected pod remains rejected, even if CPUs are free at the kubelet's next
// attempt, because the controller may have placed another pod on these CPUs. Callers hold n.mu.
func (n *Node) reserveOrReject(ctx context.Context, c workload.Container, got class) (undo func(), err error) {
	s, p := c.Sandbox, *got.request
	if rejected := n.rejected(s); rejected != nil {
		return nil, rejected
	}
	if got.kind != byPlacement {
		return n.reserveWholeCores(c, p)
	}
	undo, err = n.reserve(c, p)
	if err == nil {
		return undo, nil
	}
	n.sweep(ctx)
	undo, err = n.reserve(c, p)
	if err == nil || n.endedPodHolds() || len(n.leaving()) > 0 {
		return undo, err
	}
	err = rejection(n.apiPod(s.Pod), asRefusal(err))
	n.addSandbox(s).rejected = err
	return nil, err
}

// rejected returns why the agent rejected the sandbox's pod, or nil if it did not reject the pod.
// It also reads the pod's status, because an earlier process of the agent may have rejected the
// pod. Callers hold n.mu.
func (n *Node) rejected(s workload.Sandbox) error {
	if known := n.addSandbox(s).rejected; known != nil {
		return known
	}
	if pod := n.apiPod(s.Pod); pod != nil && n.cfg.isPlaced(s) {
		if c, rejected := v1alpha1.Rejection(pod); rejected {
			return refuse(PlacementRejected, "%s", c.Message)
		}
	}
	return nil
}

// endedPodHolds reports whether any pod that has ended still holds CPUs. A pod holds its CPUs
// until all of its processes have ended. Callers hold n.mu.
func (n *Node) endedPodHolds() bool {
	return slices.ContainsFunc(n.mu.book.sorted(), func(h Held) bool { return n.hasEnded(h.Pod.UID) })
}

// rejection returns a refusal with the reason PlacementRejected, for which reportRefusal sets the
// pod to Failed. The message of the refusal says whether the pod's controller, such as a Job,
// creates a new pod.
func rejection(pod *corev1.Pod, why *v1alpha1.Refusal) *v1alpha1.Refusal {
	next := "no controller owns it, so no new pod is created: create it again"
	if pod != nil {
		if owner := metav1.GetControllerOf(pod); owner != nil {
			next = owner.Kind + " " + owner.Name + " creates a new pod, which is placed again"
		}
	}
	return refuse(PlacementRejected, "this node cannot honour the pod's placement: %s; the pod has failed, and %s", why.Message, next)
}

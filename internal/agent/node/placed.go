package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// distrust refuses a decision that nobody may have made: any at all where no
// controller serves this node, and a static pod's, for nobody bound that.
func (n *Node) distrust(s workload.Sandbox) error {
	if _, claimed := s.Annotations[v1alpha1.AnnotationPlacement]; claimed && !n.isPlaced(s) {
		return v1alpha1.RefusePlacement()
	}
	return nil
}

// isPlaced reports whether a controller decided on the sandbox's pod.
func (n *Node) isPlaced(s workload.Sandbox) bool {
	_, claimed := s.Annotations[v1alpha1.AnnotationPlacement]
	return claimed && n.cfg.Controller && !isStatic(s)
}

// placedWithoutCPUs reports whether a controller decided on GPUs only, so that
// the pod needs no exclusive CPUs here.
func (n *Node) placedWithoutCPUs(s workload.Sandbox) bool {
	if _, policy := s.Annotations[v1alpha1.AnnotationCPUPolicy]; policy || !n.isPlaced(s) {
		return false
	}
	p, err := v1alpha1.ParsePlacement(s.Annotations[v1alpha1.AnnotationPlacement])
	return err == nil && p.CPUs() == 0
}

// placed returns the request with the counts that the controller decided on, or as
// it is where the pod was bound without.
func (n *Node) placed(s workload.Sandbox, pod *corev1.Pod, request v1alpha1.CPURequest) (v1alpha1.CPURequest, error) {
	if !n.isPlaced(s) {
		return request, nil
	}
	p, err := v1alpha1.ReadPlacement(pod, request)
	return request.At(p), err
}

// rejectForGood rejects a placed pod that is refused for what stays so.
func (n *Node) rejectForGood(s workload.Sandbox, err error) error {
	if err == nil || !n.isPlaced(s) {
		return err
	}
	if r := asRefusal(err); r.Reason == v1alpha1.PlacementInvalid || r.Reason == SwitchedOff {
		return n.reject(s, r)
	}
	return err
}

// reserveOrReject is reserve, and for good: a placed pod that finds no room is
// rejected, unless it came a moment before a pod that ended is out of the way.
// What was rejected stays so: CPUs that are free by the kubelet's next try may
// be promised to others. Callers hold the lock.
func (n *Node) reserveOrReject(ctx context.Context, c workload.Container, p pool.Pod) (undo func(), err error) {
	s := c.Sandbox
	if rejected := n.rejected(s); rejected != nil {
		return nil, rejected
	}
	undo, err = n.reserve(c, p)
	if err == nil || !n.isPlaced(s) {
		return undo, err
	}
	n.sweep(ctx)
	undo, err = n.reserve(c, p)
	if err == nil || n.waitsForEnd() {
		return undo, err
	}
	err = n.reject(s, asRefusal(err))
	n.see(s).rejected = err
	return nil, err
}

// rejected returns why the sandbox's pod was rejected, nil of one that was not.
// Its status remembers what this agent has forgotten: it was restarted, or the
// pod's former sandbox was removed. Callers hold the lock.
func (n *Node) rejected(s workload.Sandbox) error {
	if known := n.see(s).rejected; known != nil {
		return known
	}
	if pod, known := n.env.Pods.Pod(s.Pod.UID); known && n.isPlaced(s) {
		if c, rejected := v1alpha1.Rejection(pod); rejected {
			return refuse(PlacementRejected, "%s", c.Message)
		}
	}
	return nil
}

// waitsForEnd reports whether a pod that has ended still holds CPUs, for
// processes of it are left. Callers hold the lock.
func (n *Node) waitsForEnd() bool {
	return slices.ContainsFunc(n.mu.book.sorted(), func(h Held) bool { return n.hasEnded(h.Pod.UID) })
}

// reject returns the refusal that ends a pod, with what becomes of it.
func (n *Node) reject(s workload.Sandbox, why *v1alpha1.Refusal) error {
	next := "nobody makes it anew, for no controller owns it: create it again"
	if pod, known := n.env.Pods.Pod(s.Pod.UID); known {
		if owner := metav1.GetControllerOf(pod); owner != nil {
			next = owner.Kind + " " + owner.Name + " makes a new one, which is placed anew"
		}
	}
	return refuse(PlacementRejected, "this node cannot honour the pod's placement: %s; the pod has failed, and %s", why.Message, next)
}

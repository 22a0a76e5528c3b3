package node

import (
	"context"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// isolates reports whether an annotation of the sandbox's pod requests that interrupts stay off
// the pod's exclusive CPUs.
func isolates(s workload.Sandbox) bool {
	return s.Annotations[v1alpha1.AnnotationIsolation] == v1alpha1.IsolationFull
}

// checkIsolation refuses a pod that requests isolation from interrupts if this node cannot isolate
// CPUs.
func (n *Node) checkIsolation(request v1alpha1.CPURequest) error {
	if !request.Isolated {
		return nil
	}
	if err := n.env.Isolator.Check(); err != nil {
		return refuse(NotIsolated, "the pod has the annotation %s, and this node cannot isolate CPUs: %s", v1alpha1.AnnotationIsolation, err)
	}
	return nil
}

// isolate keeps interrupts off the exclusive CPUs of all pods that request isolation. Callers hold
// n.mu.
func (n *Node) isolate(ctx context.Context) error {
	var cpus cpuset.Set
	for _, h := range n.mu.book.held {
		if h.Isolated {
			cpus = cpus.Union(h.Grant.CPUs())
		}
	}
	if err := n.env.Isolator.Isolate(ctx, cpus); err != nil {
		return refuse(IsolationFailed, "cannot keep interrupts off CPUs %s: %s", cpus, err)
	}
	return nil
}

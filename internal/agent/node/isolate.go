package node

import (
	"context"
	"fmt"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// PartlyIsolatedReason is the reason of an event on a pod. The event says that this node's kernel
// cannot keep all other processes off the pod's exclusive CPUs.
const PartlyIsolatedReason = "NumaletPartlyIsolated"

// isolates reports whether an annotation of the sandbox's pod requests isolation of the pod's
// exclusive CPUs.
func isolates(s workload.Sandbox) bool { return partitionOf(s) != workload.NoPartition }

// partitionOf returns the type of cpuset partition that the pod's annotation requests for each
// container with exclusive CPUs.
func partitionOf(s workload.Sandbox) workload.Partition {
	switch s.Annotations[v1alpha1.AnnotationIsolation] {
	case v1alpha1.IsolationFull:
		return workload.IsolatedPartition
	case v1alpha1.IsolationLoadBalanced:
		return workload.RootPartition
	}
	return workload.NoPartition
}

// partition returns the type of cpuset partition that the pod's exclusive containers get on this
// node. The result is NoPartition if the kernel can make no partitions.
func (n *Node) partition(s workload.Sandbox) workload.Partition {
	if isolates(s) && n.env.Isolator.Partitions() {
		return partitionOf(s)
	}
	return workload.NoPartition
}

// checkIsolation refuses a request for isolation if this node cannot isolate CPUs.
func (n *Node) checkIsolation(request v1alpha1.CPURequest) error {
	if !request.Isolated {
		return nil
	}
	if err := n.env.Isolator.Check(); err != nil {
		return refuse(NotIsolated, "the pod has the annotation %s, and this node cannot isolate CPUs: %s", v1alpha1.AnnotationIsolation, err)
	}
	return nil
}

// isolate keeps interrupts off the exclusive CPUs of all pods that request isolation, and ends the
// partitions of containers that have ended. Callers hold n.mu.
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

// notePartlyIsolated writes an event on the sandbox's pod if the pod requests isolation but the
// kernel can make no partitions. Callers hold n.mu.
func (n *Node) notePartlyIsolated(s workload.Sandbox) {
	if isolates(s) && !n.env.Isolator.Partitions() {
		n.env.Events.Note(s.Pod, PartlyIsolatedReason, fmt.Sprintf(
			"this node keeps only interrupts and unbound workqueues off CPUs %s: its kernel has no cpuset.cpus.exclusive (cgroup v2, Linux 6.7), so processes outside of pods may run there", n.heldBy(s.Pod.UID)))
	}
}

// assertPartitions checks the cgroup of each container that requests isolation, and makes it a
// partition again if it no longer is one. A partition is a cgroup whose CPUs no other cgroup can
// use. The kernel can end a partition, for example when all of its CPUs go offline.
func (n *Node) assertPartitions(ctx context.Context) {
	defer n.lockInBackground()()
	for _, p := range n.mu.pods {
		for _, c := range p.containers {
			if d := n.decide(c); d.Partition != workload.NoPartition {
				_ = n.reportRefusal(ctx, c, n.assert(ctx, c, d), notIsolated) // the returned error would make an operation of the container runtime fail, but no operation is in progress
			}
		}
	}
}

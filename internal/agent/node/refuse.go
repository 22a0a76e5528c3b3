package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/workload"
)

// These are the reasons why the node refuses a valid request for CPUs or GPUs. Package v1alpha1
// has the reasons for refusing an invalid request, and package numaplan has the reasons for
// refusing a request for which CPUs are lacking.
const (
	CheckpointFailed  v1alpha1.Reason = "CheckpointFailed"  // the checkpoint cannot be written
	CgroupFailed      v1alpha1.Reason = "CgroupFailed"      // the agent or systemd cannot change the CPUs or the quota of a cgroup
	FormNotServed     v1alpha1.Reason = "FormNotServed"     // the pod sets a CPU policy and the node serves only limits by NUMA node, or the reverse
	GPUReserved       v1alpha1.Reason = "GPUReserved"       // the container would get a GPU of a GPU group, and the controller did not assign that GPU to it
	GPUsNamed         v1alpha1.Reason = "GPUsNamed"         // the container sets NVIDIA_VISIBLE_DEVICES itself
	IsolationFailed   v1alpha1.Reason = "IsolationFailed"   // interrupts cannot be moved off the CPUs, or the container's cgroup cannot be made a cpuset partition
	MachineChanged    v1alpha1.Reason = "MachineChanged"    // CPUs that the container holds are offline, or its NUMA node has no memory anymore
	NotAsked          v1alpha1.Reason = "NotAsked"          // the kubelet allocated other numbers of CPUs per NUMA node to the container than the container's limits say
	NotDecided        v1alpha1.Reason = "NotDecided"        // the kubelet allocated no GPUs to the container, or other GPUs than the controller assigned to it
	NotIsolated       v1alpha1.Reason = "NotIsolated"       // this node cannot isolate CPUs
	NotReady          v1alpha1.Reason = "NotReady"          // the agent has not seen the runtime's containers, or the GPU groups, yet
	PlacementRejected v1alpha1.Reason = "PlacementRejected" // the controller's placement of the pod is not possible on this node
	PodUnknown        v1alpha1.Reason = "PodUnknown"        // the API server has not told the agent about the pod yet
	Resize            v1alpha1.Reason = "Resize"            // this node cannot resize the container in place; the container keeps its CPUs
	SMTAlignment      v1alpha1.Reason = "SMTAlignment"      // the node assigns only full cores, and the request is not a multiple of a core's CPUs
	SwitchedOff       v1alpha1.Reason = "SwitchedOff"       // exclusive CPUs are switched off on this node
)

// EventReason is the reason of the events that report a refusal.
const EventReason = "NumaletRefused"

func refuse(reason v1alpha1.Reason, format string, args ...any) *v1alpha1.Refusal {
	return &v1alpha1.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// asRefusal converts an error to a refusal. If err is or wraps a refusal of package node or of the
// ledger (package pool), the result has the reason and the message of that refusal. For any other
// error, the result has the reason "Internal".
func asRefusal(err error) *v1alpha1.Refusal {
	if r := (*v1alpha1.Refusal)(nil); errors.As(err, &r) {
		return r
	}
	if r := (*numaplan.Refusal)(nil); errors.As(err, &r) {
		return refuse(v1alpha1.Reason(r.Reason.String()), "%s", r.Error())
	}
	return refuse("Internal", "%s", err)
}

// These texts end the message of a refusal whose cause may go away without a change of the pod (see
// the function `passes`). They say what happens next.
const (
	retried      = "the kubelet will try again"
	keepsRunning = "until then the container runs on the shared CPUs"
	keepsSize    = "until then the container keeps its CPUs"
	notIsolated  = "until then other processes may run on the container's CPUs; the agent tries again every 10 s"
)

// afterFailedStart returns the end of the message for a container whose start was refused. The
// text says what the kubelet does next. containerd keeps a container whose start has failed, so the
// kubelet creates a new one only if the pod's restartPolicy allows it. CRI-O removes the container, so
// the kubelet may create a new one with any restartPolicy.
func (n *Node) afterFailedStart(c workload.Container) string {
	pod, known := n.env.Pods.Pod(c.Sandbox.Pod)
	switch {
	case !known:
		return retried + ", or perhaps not if the pod's restartPolicy is Never"
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return "the pod's restartPolicy is Never: if the kubelet does not try again, create the pod again"
	}
	return retried
}

// passes reports whether the cause of a refusal may go away without a change of the pod, so that a
// retry may succeed.
func passes(r v1alpha1.Reason) bool {
	return slices.Contains([]v1alpha1.Reason{CheckpointFailed, CgroupFailed, IsolationFailed, MachineChanged, NotReady, PodUnknown, v1alpha1.PlacementNewer}, r)
}

// reportRefusal reports a refusal as an event, in the metrics and in the log. If a retry may
// succeed, the message ends with the text given as `next`, which says what happens after the refusal.
// reportRefusal returns the error for the container runtime. This error makes the runtime's
// operation fail.
func (n *Node) reportRefusal(ctx context.Context, c workload.Container, err error, next string) error {
	if err == nil {
		return nil
	}
	r := *asRefusal(err)
	if passes(r.Reason) {
		r.Message += "; " + next
	}
	n.env.Observer.Refused(r.Reason)
	if r.Reason == PlacementRejected {
		n.env.Rejecter.Reject(c.Sandbox.Pod, v1alpha1.ReasonPlacementRejected, r.Message)
		n.env.Events.Warn(c.Sandbox.Pod, v1alpha1.ReasonPlacementRejected, r.Message)
	} else {
		n.env.Events.Warn(c.Sandbox.Pod, EventReason, r.Message)
	}
	logr.FromContextOrDiscard(ctx).Info("refused", "container", c.String(), "reason", r.Reason, "message", r.Message)
	return fmt.Errorf("numalet: %w", &r)
}

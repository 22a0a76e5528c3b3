package jobs

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// disrupted reports whether a pod failed through no fault of its work: it was
// evicted, preempted, lost with its node or refused for its placement, of which its
// condition DisruptionTarget tells; or the kubelet did not admit it, of which tells
// that no container was ever started. A pod that had to start by a deadline of its
// own did fail.
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
func disrupted(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	const ownDeadline = "DeadlineExceeded" // as the kubelet calls it
	return pod.Status.Reason != ownDeadline && !slices.ContainsFunc(containers(pod), started)
}

func started(c corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// endOf returns when the last container of a pod ended, and where none ran the last
// that is known of the pod.
func endOf(pod *corev1.Pod) time.Time {
	end := time.Time{}
	for _, c := range containers(pod) {
		if c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(end) {
			end = c.State.Terminated.FinishedAt.Time
		}
	}
	if !end.IsZero() {
		return end
	}
	end = pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.LastTransitionTime.After(end) {
			end = c.LastTransitionTime.Time
		}
	}
	return end
}

// whyOf says why a pod failed: what is said of the pod, or of the first of its
// containers that failed.
func whyOf(pod *corev1.Pod) string {
	if c, rejected := v1alpha1.Rejection(pod); rejected {
		return c.Message
	}
	if pod.Status.Message != "" {
		return pod.Status.Message
	}
	for _, c := range containers(pod) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with %d (%s)", c.Name, end.ExitCode, end.Reason)
		}
	}
	return pod.Status.Reason
}

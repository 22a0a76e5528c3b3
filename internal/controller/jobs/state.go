package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// disrupted reports whether a failed pod has failed for a reason outside its program. There are two
// such cases. First, the pod has the condition DisruptionTarget: it was evicted, preempted, lost
// with its node, or rejected for its placement. Second, no container of the pod ever started: the
// kubelet did not admit the pod. The second case excludes a pod that has exceeded its own
// activeDeadlineSeconds, which counts as a failure of the pod.
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
func disrupted(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	const ownDeadline = "DeadlineExceeded" // the reason that the kubelet sets when a pod has exceeded its own activeDeadlineSeconds
	return pod.Status.Reason != ownDeadline && !slices.ContainsFunc(containers(pod), started)
}

func started(c corev1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// maxClockSkew is how far the clock of a node may be ahead of the controller's clock. The times in
// a pod's status come from the clock of the pod's node.
const maxClockSkew = time.Minute

// endOf returns when the last container of an ended pod ended. If no container has ended, it
// returns the time when a condition of the pod last changed, or else when the pod was created. It
// ignores times that are in the future by more than maxClockSkew. Otherwise a failed pod would be
// replaced a day late if the clock of its node is a day ahead.
func endOf(pod *corev1.Pod, now time.Time) time.Time {
	latest := now.Add(maxClockSkew)
	end := time.Time{}
	for _, c := range containers(pod) {
		if c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(end) && !c.State.Terminated.FinishedAt.After(latest) {
			end = c.State.Terminated.FinishedAt.Time
		}
	}
	if !end.IsZero() {
		return end
	}
	end = pod.CreationTimestamp.Time
	for _, condition := range pod.Status.Conditions {
		if condition.LastTransitionTime.After(end) && !condition.LastTransitionTime.After(latest) {
			end = condition.LastTransitionTime.Time
		}
	}
	return end
}

// whyOf returns why a pod failed. It returns the first of these that exists: the message of the
// condition by which an agent rejects a placement, the message of the pod's status, the exit code
// of the first container that failed, and the reason in the pod's status.
func whyOf(pod *corev1.Pod) string {
	if c, rejected := v1alpha1.Rejection(pod); rejected {
		return c.Message
	}
	if pod.Status.Message != "" {
		return pod.Status.Message
	}
	for _, c := range containers(pod) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with exit code %d (%s)", c.Name, end.ExitCode, end.Reason)
		}
	}
	return pod.Status.Reason
}

// readPods reads the pods of the job from the cache into t.pods, by index. A cache that is out of
// date does no harm. If an existing pod is not in the cache yet, it cannot be created again,
// because its name is taken. If the cache still has a pod that was replaced, the new pod is not
// deleted by mistake, because pods are deleted by UID.
func (t *task) readPods(ctx context.Context) error {
	list := &corev1.PodList{}
	err := t.client.List(ctx, list, client.InNamespace(t.job.Namespace), client.MatchingLabels{v1alpha1.LabelJob: t.job.Name})
	if err != nil {
		return fmt.Errorf("list pods of job %s/%s: %w", t.job.Namespace, t.job.Name, err)
	}
	t.pods = map[int]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		index, err := strconv.Atoi(pod.Labels[v1alpha1.LabelJobIndex])
		if err == nil && pod.Name == podName(t.job, index) && metav1.IsControlledBy(pod, t.job) {
			t.pods[index] = pod
		}
	}
	return nil
}

// podName returns the name of the pod that has the given index in a job. The pod's host name is the
// same.
func podName(job *v1alpha1.Job, index int) string { return fmt.Sprintf("%s-%d", job.Name, index) }

// podOf converts a pod to the type that package jobplan reads.
func podOf(index int, pod *corev1.Pod, now time.Time) jobplan.Pod {
	attempt, _ := strconv.Atoi(pod.Labels[v1alpha1.LabelJobAttempt]) // without the label it is attempt 0, the first
	unstarted, _ := strconv.Atoi(pod.Labels[v1alpha1.LabelJobUnstarted])
	p := jobplan.Pod{
		Index: index, Attempt: attempt, Unstarted: unstarted, Name: pod.Name, Node: pod.Spec.NodeName,
		State: stateOf(pod), Started: slices.ContainsFunc(containers(pod), started),
	}
	if end := pod.DeletionTimestamp; end != nil { // the API server adds the grace period to the time of the deletion
		p.Deleting, p.Gone = true, end.Time
	}
	for _, condition := range pod.Status.Conditions {
		p.Ready = p.Ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	}
	for _, c := range containers(pod) {
		p.Restarts += int(c.RestartCount)
	}
	p.Ended, p.Why = endOf(pod, now), whyOf(pod)
	return p
}

func stateOf(pod *corev1.Pod) jobplan.State {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return jobplan.Running
	case corev1.PodSucceeded:
		return jobplan.Succeeded
	case corev1.PodFailed:
		if disrupted(pod) {
			return jobplan.Disrupted
		}
		return jobplan.Failed
	default:
		return jobplan.Waiting
	}
}

package jobs

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// read finds the pods of the job, by index. The cache may be behind: a pod that it
// does not know yet cannot be made twice, for its name is taken, and one that it
// still knows is deleted by UID.
func (t *task) read(ctx context.Context) error {
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

// podName returns the name of a pod, which is that of its host too.
func podName(job *v1alpha1.Job, index int) string { return fmt.Sprintf("%s-%d", job.Name, index) }

// podOf returns what a pod is for the plan.
func podOf(index int, pod *corev1.Pod) jobplan.Pod {
	attempt, _ := strconv.Atoi(pod.Labels[v1alpha1.LabelJobAttempt]) // without the label, the first
	p := jobplan.Pod{Index: index, Attempt: attempt, State: stateOf(pod), Going: pod.DeletionTimestamp != nil}
	for _, c := range pod.Status.Conditions {
		p.Ready = p.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range containers(pod) {
		p.Starts += int(c.RestartCount)
	}
	p.Ended, p.Why = endOf(pod), whyOf(pod)
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

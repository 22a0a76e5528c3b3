package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

// schedulerName is the default scheduler name of numalet-controller.
const schedulerName = "numalet-scheduler"

// notQueued is the state that the command "numalet why" shows for a pod if the pod is not in the
// scheduling queue, or if numalet-controller's queue API does not answer.
const notQueued = "notQueued"

// diagnose explains why a pod does not run, if the queue API of numalet-controller cannot explain
// it. It finds the cause in the pod itself. The parameter `asked` is the error with which the queue
// API answered.
func (c *cluster) diagnose(ctx context.Context, namespace, name string, asked error) (queueapi.PendingPod, error) {
	config, err := c.config()
	if err != nil {
		return queueapi.PendingPod{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return queueapi.PendingPod{}, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return queueapi.PendingPod{}, err
	}
	return unqueued(pod, unanswered(asked), time.Now()), nil
}

// unanswered returns why the queue API of numalet-controller did not answer a question about a pod. It
// returns nil if the API answered that the pod is not in the queue.
func unanswered(err error) *queueapi.Advice {
	switch {
	case errors.Is(err, queueapi.ErrNoAPI):
		return &queueapi.Advice{
			Cause:  "the controller does not answer: none runs or leads, or its queue API is not installed",
			Remedy: "ask an administrator to check the Deployment numalet-controller in numalet-system, and to install the queue API (docs/tasks/why-a-pod-waits.md, For administrators)",
		}
	case apierrors.IsForbidden(err): // for most users, the API server also forbids an API that is not installed
		return &queueapi.Advice{
			Cause:  "the queue API is not installed, or you may not read it",
			Remedy: "ask an administrator to install it (docs/tasks/why-a-pod-waits.md, For administrators), or for the role view in the namespace",
		}
	}
	return nil
}

// unqueued explains why a pod that is not in the scheduling queue does not run. The parameter `silent`
// is why the queue API did not answer. It is nil if the API answered that the pod is not in the queue.
func unqueued(pod *corev1.Pod, silent *queueapi.Advice, now time.Time) queueapi.PendingPod {
	p := queueapi.PendingPod{
		TypeMeta:   metav1.TypeMeta{APIVersion: queueapi.Group + "/" + queueapi.Version, Kind: queueapi.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, CreationTimestamp: pod.CreationTimestamp},
	}
	p.Status = queueapi.Status{State: notQueued, Waited: now.Sub(pod.CreationTimestamp.Time).Round(time.Second).String(), Message: unscheduled(pod)}
	found := standing(pod)
	if found == nil {
		found = silent
	}
	if found != nil {
		p.Status.Advice = append(p.Status.Advice, *found)
	}
	p.Status.Advice = append(p.Status.Advice, queueapi.Advise(p.Status.Message)...)
	if name := pod.Spec.SchedulerName; name != schedulerName && pod.Spec.NodeName == "" && !ended(pod) { // last, because Numalet may have profiles with other names
		p.Status.Advice = append(p.Status.Advice, queueapi.Advice{
			Cause:  "the scheduler " + name + " places the pod, which is Numalet's only if an administrator has chosen this name",
			Remedy: "if it is not, and that is not wanted, create the pod again with schedulerName: " + schedulerName,
		})
	}
	if len(p.Status.Advice) == 0 {
		p.Status.Advice = []queueapi.Advice{{Cause: "the pod is not in the queue", Remedy: "ask again in a moment; if it stays so, look at kubectl describe pod " + pod.Name}}
	}
	p.Status.WaitsFor, p.Status.Needs = p.Status.Advice[0].Cause, p.Status.Advice[0].Remedy
	return p
}

// standing returns why a pod does not run, if the pod itself shows the cause, such as scheduling
// gates. Otherwise it returns nil.
func standing(pod *corev1.Pod) *queueapi.Advice {
	gates := make([]string, len(pod.Spec.SchedulingGates))
	for i, g := range pod.Spec.SchedulingGates {
		gates[i] = g.Name
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return &queueapi.Advice{Cause: "the pod is being deleted", Remedy: "wait until it is gone"}
	case rejected(pod):
		return &queueapi.Advice{Cause: "the node rejected the pod's placement, which ended the pod", Remedy: "its owner creates a new one, which is placed elsewhere; a pod without an owner must be created again"}
	case ended(pod):
		return &queueapi.Advice{Cause: "the pod has ended (" + string(pod.Status.Phase) + ")", Remedy: "create it again to run it again"}
	case pod.Spec.NodeName != "":
		return &queueapi.Advice{Cause: "the pod is on node " + pod.Spec.NodeName + starting(pod), Remedy: "see kubectl describe pod " + pod.Name + " if it does not run"}
	case len(gates) > 0:
		return &queueapi.Advice{Cause: "the pod has the scheduling gates " + strings.Join(gates, ", "), Remedy: "whoever set them has to remove them; nobody schedules it before"}
	}
	return nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func rejected(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Reason == v1alpha1.ReasonPlacementRejected {
			return true
		}
	}
	return pod.Status.Reason == v1alpha1.ReasonPlacementRejected
}

// starting returns why the first waiting container of the pod does not run yet. It returns "" if
// no container of the pod waits.
func starting(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			return ", and container " + c.Name + " waits: " + c.State.Waiting.Reason
		}
	}
	return ""
}

// unscheduled returns the message of the pod's condition PodScheduled, if this condition is
// false.
func unscheduled(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

// unexplained reports whether err means that the queue API of numalet-controller does not know
// the pod, does not answer, or must not answer this user. In this case, the command looks for the
// cause in the pod itself.
func unexplained(err error) bool {
	return apierrors.IsNotFound(err) || unanswered(err) != nil
}

package e2eutil

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Scheduler is the schedulerName that deploy/controller/admission/scheduler-name.yaml sets for pods
// that request exclusive CPUs or GPUs.
const Scheduler = "numalet-scheduler"

// Cluster is a node of the test cluster (a virtual machine, see test/cluster), a client of the API
// server, and the namespace of the test.
type Cluster struct {
	Rig
	API       kubernetes.Interface
	Namespace string
	config    *rest.Config
	mutates   bool // the result of the function Mutates
}

// Connect returns a Cluster with a client for the API server in a kubeconfig file.
func Connect(kubeconfig string, rig Rig) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mutates, err := Mutates(api)
	return &Cluster{Rig: rig, API: api, Namespace: "default", config: config, mutates: mutates}, err
}

// Mutates reports whether an API server supports MutatingAdmissionPolicy v1, which it does from
// Kubernetes 1.36. On older versions, nothing adds fields to pods and annotations to GPU groups, so
// their authors write these themselves.
func Mutates(api kubernetes.Interface) (bool, error) {
	list, err := api.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "mutatingadmissionpolicies" }), nil
}

// As returns a client that impersonates another user.
func (c *Cluster) As(user string) (kubernetes.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return kubernetes.NewForConfig(config)
}

// Create creates a pod with a nodeSelector for the node of the Cluster. On Kubernetes before 1.36,
// no admission policy adds the schedulerName to pods that request exclusive CPUs. On these
// versions, Create adds the schedulerName if the pod has none.
func (c *Cluster) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = map[string]string{}
	}
	pod.Spec.NodeSelector[corev1.LabelHostname] = c.Node()
	if request, err := v1alpha1.ReadCPURequest(pod); !c.mutates && pod.Spec.SchedulerName == "" && (err != nil || request.Form != v1alpha1.None) {
		pod.Spec.SchedulerName = Scheduler
	}
	return c.API.CoreV1().Pods(c.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// Delete deletes pods and waits until they are gone.
func (c *Cluster) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := c.API.CoreV1().Pods(c.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	for _, name := range names {
		if err := c.gone(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) gone(ctx context.Context, name string) error {
	return poll(ctx, func() (bool, string, error) {
		_, err := c.API.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), "pod " + name + " still exists", nil
	})
}

// Await polls a pod until the function given as `ok` returns true for the pod. If ctx ends before
// that, the error contains the state of the pod.
func (c *Cluster) Await(ctx context.Context, name string, ok func(*corev1.Pod) bool) (*corev1.Pod, error) {
	var pod *corev1.Pod
	err := poll(ctx, func() (done bool, state string, err error) {
		pod, err = c.API.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error(), nil
		}
		return ok(pod), describe(pod), nil
	})
	return pod, err
}

// Running reports whether every app container runs.
func Running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) == len(pod.Spec.Containers) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running == nil })
}

// Succeeded reports whether the pod has completed.
func Succeeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }

// WaitsFor returns the reason why a pod is not scheduled, or "" if there is none.
func WaitsFor(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

// AwaitEvent polls until the pod has an event with the given reason, and with a message that
// contains the given text.
func (c *Cluster) AwaitEvent(ctx context.Context, pod, reason, text string) error {
	return poll(ctx, func() (bool, string, error) {
		list, err := c.API.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return false, err.Error(), nil
		}
		var seen []string
		for _, e := range list.Items {
			if e.Reason == reason && strings.Contains(e.Message, text) {
				return true, "", nil
			}
			seen = append(seen, e.Reason+": "+e.Message)
		}
		return false, fmt.Sprintf("no event %s with %q on pod %s, but:\n\t%s", reason, text, pod, strings.Join(seen, "\n\t")), nil
	})
}

// Lives reads what the containers on the node have recorded so far about their own CPUs.
func (c *Cluster) Lives(ctx context.Context) ([]Life, error) {
	text, err := c.Shell(ctx, "cd "+traces+` && for f in *; do [ ! -e "$f" ] || { echo "==> $f <=="; cat "$f"; }; done`)
	if err != nil {
		return nil, err
	}
	return ParseTraces(text)
}

// Forget removes the records of containers of earlier tests. It syncs the disk, because otherwise a
// reset of the machine could bring the records back.
func (c *Cluster) Forget(ctx context.Context) error {
	_, err := c.Shell(ctx, "mkdir -p "+traces+" && rm -f "+traces+"/* && sync")
	return err
}

// poll calls the function given as `check` repeatedly. It ends when `check` returns true or an
// error, or when ctx ends. The result `state` of `check` describes what `check` has read. If poll
// fails, its error contains the last of these descriptions.
func poll(ctx context.Context, check func() (done bool, state string, err error)) error {
	var last string
	err := wait.PollUntilContextCancel(ctx, 300*time.Millisecond, true, func(context.Context) (bool, error) {
		done, state, err := check()
		last = state
		return done, err
	})
	if err != nil && last != "" {
		return errors.Join(err, errors.New(last))
	}
	return err
}

func describe(pod *corev1.Pod) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s is %s %s", pod.Name, pod.Status.Phase, pod.Status.Message)
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil {
			fmt.Fprintf(&b, "; %s waits: %s %s", s.Name, w.Reason, w.Message)
		}
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Status == corev1.ConditionFalse && cond.Message != "" {
			fmt.Fprintf(&b, "; %s: %s", cond.Type, cond.Message)
		}
	}
	return b.String()
}

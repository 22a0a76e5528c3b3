//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// eventReason is the reason of the events that the agent creates when it refuses a pod.
const eventReason = "NumaletRefused"

// badInput lists pods with invalid requests, and the messages with which these pods are refused.
var badInput = map[string]struct {
	policy  string
	cpu     string
	spoil   func(*corev1.Pod)
	message string
	late    bool // whether the API server admits the pod, because the request is invalid only on this node
}{
	"no-integer":      {"single", "1500m", nil, "no container has an integer cpu limit (c: 1500m)", false},
	"request-unlike":  {"single", "2", requestLess, `container "c" requests cpu 1 with a limit of 2; make the request equal to the limit`, false},
	"no-memory":       {"single", "2", noMemory, `container "c" has no memory limit`, false},
	"unknown-policy":  {"compact", "2", nil, `is "compact"; allowed are spread, single and random`, false},
	"unknown-memory":  {"single", "2", annotate(v1alpha1.AnnotationMemoryPolicy, "near"), `is "near"; allowed are local and any`, false},
	"misspelt":        {"single", "2", annotate("numalet.dev/cpu_policy", "single"), "numalet.dev/cpu_policy", false},
	"stranger":        {"single", "2", annotate(v1alpha1.AnnotationSharedContainers, "x"), `names "x"`, false},
	"hand-placed":     {"single", "2", annotate(v1alpha1.AnnotationPlacement, `{"v":1}`), "only the numalet controller may set", false},
	"both-forms":      {"single", "2", explicitly("1", "2"), "keep one of the two", false},
	"count-mismatch":  {"", "2", explicitly("1", "1"), `asks for 1 exclusive CPUs by NUMA node, but its cpu limit is 2`, false},
	"explicit-here":   {"", "2", explicitly("1", "2"), "explicit", true},
	"single-too-many": {"single", "5", nil, "5", true},
	"spread-too-many": {"spread", "12", nil, "12", true},
}

// TestRefusedAtAdmission checks that the API server refuses a pod whose request is invalid.
func TestRefusedAtAdmission(t *testing.T) {
	for name, tc := range badInput {
		if tc.late {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ctx := start(t, time.Minute, name)
			_, err := cluster.Create(ctx, badPod(name, tc.policy, tc.cpu, tc.spoil))
			if err == nil || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("create: %v, want a refusal with %q", err, tc.message)
			}
		})
	}
}

// refusedByNode checks that an invalid pod that passes admission gets an event and does not run. It
// creates the pods one after another, and deletes each before the next. Some refused pods stay on
// the node, and all pods together would request more CPUs than the node has.
func refusedByNode(t *testing.T) {
	withoutAdmission(t)
	for name, tc := range badInput {
		t.Run(name, func(t *testing.T) {
			ctx := start(t, 2*time.Minute, name)
			_, err := cluster.Create(ctx, badPod(name, tc.policy, tc.cpu, tc.spoil))
			must(t, err)
			must(t, cluster.AwaitEvent(ctx, name, eventReason, tc.message))
			pod, err := cluster.API.CoreV1().Pods(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
			must(t, err)
			for _, s := range pod.Status.ContainerStatuses {
				if s.State.Running != nil || s.LastTerminationState.Terminated != nil {
					t.Errorf("container %s has run: %+v", s.Name, s)
				}
			}
		})
	}
}

func badPod(name, policy, cpu string, spoil func(*corev1.Pod)) *corev1.Pod {
	pod := e2eutil.Pod(name, policy, e2eutil.Container{Name: "c", CPU: cpu})
	if spoil != nil {
		spoil(pod)
	}
	return pod
}

func requestLess(pod *corev1.Pod) {
	requests := pod.Spec.Containers[0].Resources.Requests.DeepCopy()
	requests[corev1.ResourceCPU] = resource.MustParse("1")
	pod.Spec.Containers[0].Resources.Requests = requests
}

func noMemory(pod *corev1.Pod) {
	r := &pod.Spec.Containers[0].Resources
	r.Limits = corev1.ResourceList{corev1.ResourceCPU: r.Limits[corev1.ResourceCPU]}
	r.Requests = r.Limits
}

func annotate(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[key] = value }
}

// explicitly returns a function that adds a limit of n CPUs of one NUMA node to a pod.
func explicitly(node, n string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		r := &pod.Spec.Containers[0].Resources
		limits := r.Limits.DeepCopy()
		limits[corev1.ResourceName("numalet.dev/numa"+node+"-cpu")] = resource.MustParse(n)
		r.Limits, r.Requests = limits, limits
	}
}

// withoutAdmission removes the bindings of the admission policies for CPU requests and for changes of
// pods, and creates them again when the test ends.
func withoutAdmission(t *testing.T) {
	t.Helper()
	bindings := cluster.API.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	for _, name := range []string{"numalet-cpu-requests", "numalet-changes"} {
		binding, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		must(t, bindings.Delete(t.Context(), name, metav1.DeleteOptions{}))
		t.Cleanup(func() {
			binding.ResourceVersion, binding.UID = "", ""
			_, err := bindings.Create(context.Background(), binding, metav1.CreateOptions{})
			must(t, err)
		})
	}
	time.Sleep(2 * time.Second) // the API server needs up to a second to compile changed policies
}

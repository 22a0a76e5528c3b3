//go:build e2e

package controller

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// TestConfined sends requests with the controller's service account. The RBAC roles of this account
// allow all of the requests. TestConfined checks that the admission policies of
// deploy/admission/controller-writes.yaml refuse those that the controller itself never sends.
func TestConfined(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 1, CPUs: 4})
	w.create(pausing("stray"))
	w.create(ofJob(pausing("own")))
	api := w.as("numalet-system", "numalet-controller")
	try := []string{metav1.DryRunAll}
	pods, system := api.CoreV1().Pods("default"), api.CoreV1().Pods("kube-system")
	annotate := func(pod, annotation string) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"2"}}}`, annotation)
		_, err := pods.Patch(w.ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: try})
		return err
	}
	status := func(patch string) error {
		_, err := pods.Patch(w.ctx, "stray", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{DryRun: try}, "status")
		return err
	}
	create := func(namespace string, pod *corev1.Pod) error {
		pod.Namespace = namespace
		_, err := api.CoreV1().Pods(namespace).Create(w.ctx, pod, metav1.CreateOptions{DryRun: try})
		return err
	}
	for name, tc := range map[string]struct {
		do   func() error
		want string // part of the refusal; "" if the request is allowed
	}{
		"a pod of a Job":           {func() error { return create("default", ofJob(pausing("a"))) }, ""},
		"a pod of nobody":          {func() error { return create("default", pausing("a")) }, "belongs to none"},
		"a pod in kube-system":     {func() error { return create("kube-system", ofJob(pausing("a"))) }, "may not write pods in the namespace kube-system"},
		"a pod beside itself":      {func() error { return create("numalet-system", ofJob(pausing("a"))) }, "may not write pods in the namespace numalet-system"},
		"deletes a Job's pod":      {func() error { return pods.Delete(w.ctx, "own", metav1.DeleteOptions{DryRun: try}) }, ""},
		"deletes another pod":      {func() error { return pods.Delete(w.ctx, "stray", metav1.DeleteOptions{DryRun: try}) }, "belongs to none"},
		"the size of a gang":       {func() error { return annotate("own", v1alpha1.AnnotationGangMinAvailable) }, ""},
		"another annotation":       {func() error { return annotate("own", "example.com/a") }, "numalet.dev/gang-min-available of a pod and nothing else"},
		"another pod's annotation": {func() error { return annotate("stray", v1alpha1.AnnotationGangMinAvailable) }, "belongs to none"},
		"the condition":            {func() error { return status(`{"status":{"conditions":[{"type":"PodScheduled","status":"False"}]}}`) }, ""},
		"another condition":        {func() error { return status(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`) }, "the condition PodScheduled"},
		"the phase":                {func() error { return status(`{"status":{"phase":"Failed"}}`) }, "the condition PodScheduled"},
		"a ConfigMap in the system": {func() error {
			_, err := api.CoreV1().ConfigMaps("kube-system").Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{DryRun: try})
			return err
		}, "may not write configmaps in the namespace kube-system"},
		"a Service of nobody": {func() error {
			_, err := api.CoreV1().Services("default").Create(w.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}}, metav1.CreateOptions{DryRun: try})
			return err
		}, "belongs to none"},
		"all pods of the system": {func() error {
			return system.DeleteCollection(w.ctx, metav1.DeleteOptions{DryRun: try}, metav1.ListOptions{})
		}, "deletecollection"},
	} {
		err := tc.do()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestNotReadyWithoutPolicies deletes the binding of an admission policy that confines the
// controller, and then starts a controller. It checks that the controller reports the missing
// policy, and that the controller is not ready until the policy is in force again.
func TestNotReadyWithoutPolicies(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 1, CPUs: 4})
	_, err := w.Kubectl(w.ctx, "delete", "validatingadmissionpolicybinding", "numalet-controller-objects")
	w.must(err)
	api := w.as("numalet-system", "numalet-controller")
	w.await("nothing confines the account", func() bool {
		_, err := api.CoreV1().Pods("default").Create(w.ctx, pausing("a"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
	w.controller, err = w.StartController(w.ctx, "controller", *program)
	w.must(err)
	t.Cleanup(func() { _ = w.controller.Stop(0) })
	var reason error
	w.await("it is not ready for want of a policy", func() bool {
		reason = w.controller.Ready(w.ctx)
		return reason != nil && strings.Contains(reason.Error(), "do not confine this program")
	})
	w.confine()
	w.must(w.controller.AwaitReady(w.ctx))
}

// The method `as` returns a client with the rights of a service account.
func (w *world) as(namespace, account string) kubernetes.Interface {
	w.Helper()
	file, err := w.Account(w.ctx, namespace, account)
	w.must(err)
	config, err := clientcmd.BuildConfigFromFlags("", file)
	w.must(err)
	client, err := kubernetes.NewForConfig(config)
	w.must(err)
	return client
}

// pausing returns a pod that stays pending, because its scheduler does not exist.
func pausing(name string) *corev1.Pod {
	return hollowcluster.Pod("default", name, "nobody", "100m", 0)
}

// ofJob makes a Job (numalet.dev) the owner of a pod, and returns the pod.
func ofJob(pod *corev1.Pod) *corev1.Pod {
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "numalet.dev/v1alpha1", Kind: "Job", Name: "a", UID: "a", Controller: &yes}}
	return pod
}

//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// gpuRejected binds two pods with the same GPU. The controller never does this. gpuRejected checks
// that the node rejects the second pod.
func gpuRejected(ctx context.Context, t *testing.T) {
	gpu, one := wholeGPUs()[:1], map[string]int{whole: 1}
	bindGPUs(ctx, t, gpuPod("first", time.Hour, one), gpu)
	first, err := cluster.Await(ctx, "first", e2eutil.Running)
	must(t, err)
	bindGPUs(ctx, t, gpuPod("second", time.Hour, one), gpu)
	failed, err := cluster.Await(ctx, "second", v1alpha1.Ended)
	must(t, err)
	if why, rejected := v1alpha1.Rejection(failed); !rejected || !strings.Contains(why.Message, "the controller decided on "+gpu[0]) {
		t.Errorf("second: %+v", failed.Status)
	}
	mustHold(ctx, t, first)
	must(t, cluster.Delete(ctx, "first", "second"))
}

// bindGPUs creates a pod that no scheduler handles. It uses the controller's account to bind the
// pod, because no other account may set a placement. The Binding has a placement: the annotation
// with the CPUs and GPUs that the controller has chosen for each container. This placement has the
// given GPUs for the pod's first container.
func bindGPUs(ctx context.Context, t *testing.T, pod *corev1.Pod, ids []string) {
	t.Helper()
	pod.Spec.SchedulerName = "nobody"
	text, err := v1alpha1.FormatPlacement(map[string]v1alpha1.ContainerPlacement{"c0": {GPUs: ids}})
	must(t, err)
	controller, err := cluster.As("system:serviceaccount:numalet-system:numalet-controller")
	must(t, err)
	_, err = cluster.Create(ctx, pod)
	must(t, err)
	must(t, controller.CoreV1().Pods(cluster.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Annotations: map[string]string{v1alpha1.AnnotationPlacement: text}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: cluster.Node()},
	}, metav1.CreateOptions{}))
}

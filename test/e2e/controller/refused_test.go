//go:build e2e

package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// noBinds is an admission policy that refuses the Bindings of pods whose names start with
// "unlucky".
const noBinds = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-binds}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding]}
  validations:
    - {expression: "!object.metadata.name.startsWith('unlucky')", message: out of luck}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-binds}
spec: {policyName: no-binds, validationActions: [Deny]}
`

// TestBindRefused checks that a pod whose Binding the API server refuses is unchanged and holds no
// resources. Once the API server accepts the Binding, the pod is bound.
func TestBindRefused(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8})
	file := filepath.Join(t.TempDir(), "no-binds.yaml")
	w.must(os.WriteFile(file, []byte(noBinds), 0o600))
	_, err := w.Kubectl(w.ctx, "apply", "-f", file)
	w.must(err)
	w.await("the policy is in force", func() bool { return w.post("unlucky-nobody", nil) == "out of luck" })
	w.create(ours("unlucky", "8", "single"))
	w.await("two binds are undone: the second one had the CPUs of the first", func() bool {
		n, err := w.controller.Metric(w.ctx, "numalet_scheduler_undone_total")
		return err == nil && n >= 2
	})
	if pod := w.pod("unlucky"); pod.Spec.NodeName != "" || pod.Annotations[v1alpha1.AnnotationPlacement] != "" {
		t.Errorf("not bound, but on %q with %v", pod.Spec.NodeName, pod.Annotations)
	}
	_, err = w.Kubectl(w.ctx, "delete", "-f", file)
	w.must(err)
	w.await("it is bound in the end", func() bool { return w.pod("unlucky").Spec.NodeName != "" })
	if got, want := w.pod("unlucky").Annotations[v1alpha1.AnnotationPlacement], `{"version":1,"containers":{"main":{"cpus":{"1":8}}}}`; got != want {
		t.Errorf("placement %s, want %s", got, want)
	}
}

// TestForged checks that only the controller may set the placement of a pod. Not even an
// administrator may set it.
func TestForged(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8})
	forged := map[string]string{v1alpha1.AnnotationPlacement: `{"version":1,"containers":{"main":{"cpus":{"1":8}}}}`}
	pod := ours("held", "1", "single")
	pod.Spec.SchedulerName = "nobody"
	w.create(pod)
	w.await("a forged placement is refused", func() bool { return strings.Contains(w.post("held", forged), "only the numalet controller may set") })
	pod = ours("forged", "1", "single")
	pod.Annotations[v1alpha1.AnnotationPlacement] = forged[v1alpha1.AnnotationPlacement]
	if _, err := w.api.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a pod that carries its placement: %v, want refused", err)
	}
	if said := w.post("held", nil); said != "" {
		t.Errorf("an administrator's binding: %s", said)
	}
}

// post binds a pod to the node as the administrator. It returns the API server's refusal, or "".
func (w *world) post(name string, annotations map[string]string) string {
	err := w.api.CoreV1().Pods("default").Bind(w.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: annotations},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "node-00000"},
	}, metav1.CreateOptions{})
	if err == nil {
		return ""
	}
	_, said, _ := strings.Cut(err.Error(), "denied request: ")
	return said
}

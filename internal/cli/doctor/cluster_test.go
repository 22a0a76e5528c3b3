package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/api/v1alpha1"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// world is a fake cluster, on which every check is OK until a test changes it.
type world struct {
	version  string
	crds     []string
	policies []string
	objects  []runtime.Object
	topology map[string]string // status of the condition Ready of each NodeTopology, by name of the node
	forbid   string            // the resource that the user is not allowed to list
}

func installed() *world {
	holder, seconds, renewed := "numalet-controller-0_x", int32(15), metav1.NewMicroTime(now.Add(-5*time.Second))
	meta := metav1.ObjectMeta{Namespace: "numalet-system", Name: "numalet", Labels: map[string]string{"app.kubernetes.io/name": "numalet"}}
	settled := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "numalet"}},
	}}}}}
	return &world{
		version: "v1.36.3", crds: []string{"gpugroups", "jobs", "nodetopologies", "tenants"}, policies: policies(),
		topology: map[string]string{"n1": "True", "n2": "True"},
		objects: []runtime.Object{
			&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: settled}, Status: appsv1.DaemonSetStatus{NumberReady: 2, DesiredNumberScheduled: 2}},
			&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: "numalet-controller"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
			},
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"config.yaml": `gpu-exempt-namespaces: ""`}},
		},
	}
}

func (w *world) clients(t *testing.T) Clients {
	t.Helper()
	kube := kubefake.NewClientset(w.objects...)
	for _, name := range w.policies {
		if err := kube.Tracker().Add(&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	discovered := kube.Discovery().(*fakediscovery.FakeDiscovery)
	discovered.FakedServerVersion = &version.Info{GitVersion: w.version}
	list := &metav1.APIResourceList{GroupVersion: v1alpha1.NodeTopologyResource().GroupVersion().String()}
	for _, name := range w.crds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	discovered.Resources = []*metav1.APIResourceList{list}
	kube.PrependReactor("list", w.forbid, func(clienttesting.Action) (bool, runtime.Object, error) {
		return w.forbid != "", nil, errors.New("forbidden")
	})
	kinds := map[schema.GroupVersionResource]string{v1alpha1.NodeTopologyResource(): "NodeTopologyList"}
	dynamic := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	for name, ready := range w.topology {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": list.GroupVersion, "kind": "NodeTopology", "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready, "reason": "RuntimeNotServed", "message": "containerd is away"}}},
		}}
		if err := dynamic.Tracker().Create(v1alpha1.NodeTopologyResource(), object, ""); err != nil {
			t.Fatal(err)
		}
	}
	return Clients{Kube: kube, Dynamic: dynamic, Now: func() time.Time { return now }}
}

// TestCluster checks which finding each deviation from a healthy cluster causes.
func TestCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		want   string // the fields Check, Status and Found of each finding that is not OK, as "Check Status: Found"
	}{
		"healthy": {func(*world) {}, ""},
		"elsewhere": {
			func(w *world) {
				for _, object := range w.objects {
					object.(metav1.Object).SetNamespace("platform")
				}
			}, "",
		},
		"too old":     {func(w *world) { w.version = "v1.33.4" }, "kubernetes-version error: v1.33.4"},
		"old":         {func(w *world) { w.version = "v1.35.0-eks-1" }, "kubernetes-version warning: v1.35.0-eks-1"},
		"no tenants":  {func(w *world) { w.crds = w.crds[:3] }, "custom-resources error: numalet.dev/v1alpha1 lacks tenants"},
		"no policies": {func(w *world) { w.policies = w.policies[2:] }, "admission-policies error: missing: numalet-bindings, numalet-changes"},
		"no agent":    {func(w *world) { w.objects = w.objects[1:] }, "agent error: no DaemonSet of Numalet in namespace numalet-system"},
		"an agent is away": {
			func(w *world) { w.objects[0].(*appsv1.DaemonSet).Status.NumberReady = 1 },
			"agent error: 1 of 2 pods are ready",
		},
		"no controller": {func(w *world) { w.objects = slices.Delete(w.objects, 1, 2) }, "controller info: no lease numalet-controller"},
		"nobody leads": {
			func(w *world) {
				w.objects[1].(*coordinationv1.Lease).Spec.RenewTime = &metav1.MicroTime{Time: now.Add(-time.Minute)}
			},
			"controller error: numalet-controller-0_x renewed the lease 1m0s ago",
		},
		"a node is not served": {func(w *world) { w.topology["n2"] = "False" }, "nodes error: Ready: RuntimeNotServed"},
		"no node":              {func(w *world) { w.topology = nil }, "nodes warning: 0 of 0 nodes with an agent serve exclusive CPUs"},
		"another plugin": {
			func(w *world) {
				spec := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "example.com/nvidia/k8s-device-plugin:v0.18"}}}}
				w.objects = append(w.objects, &appsv1.DaemonSet{
					ObjectMeta: metav1.ObjectMeta{Namespace: "gpu", Name: "nvidia"}, Spec: appsv1.DaemonSetSpec{Template: spec},
					Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 1},
				})
			},
			"nvidia-plugin warning: NVIDIA's device plugin runs",
		},
		"an exempt namespace": {
			func(w *world) {
				w.objects = append(w.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gpu-operator", Labels: map[string]string{v1alpha1.LabelEnforcement: "advisory"}}},
					&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{v1alpha1.LabelEnforcement: "strict"}}})
			},
			"exempt-namespaces info: the label numalet.dev/enforcement is advisory",
		},
		"namespaces that see GPUs": {
			func(w *world) {
				w.objects[2].(*corev1.ConfigMap).Data["config.yaml"] = "gpu-exempt-namespaces: kube-system, monitoring"
			},
			"exempt-namespaces info: containers without GPUs see those that they name in kube-system, monitoring",
		},
		"namespaces that see GPUs by default": {
			func(w *world) { w.objects[2].(*corev1.ConfigMap).Data["config.yaml"] = "full-cores: true" },
			"exempt-namespaces info: containers without GPUs see those that they name in gpu-operator, kube-system, numalet-system",
		},
		"no permission": {func(w *world) { w.forbid = "leases" }, "controller unknown: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			w := installed()
			tc.change(w)
			var got []string
			report := Cluster(t.Context(), w.clients(t))
			for _, f := range report {
				if f.Status != OK {
					got = append(got, f.Check+" "+string(f.Status)+": "+f.Found)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("findings that are not OK (-want +got):\n%s", diff)
			}
			if fails := strings.Contains(tc.want, " error: ") || strings.Contains(tc.want, " unknown: "); report.Fails() != fails {
				t.Errorf("Fails() = %v, want %v", report.Fails(), fails)
			}
		})
	}
}

func TestWriteText(t *testing.T) {
	var text strings.Builder
	report := Report{
		{Check: "cgroups", Status: OK, Found: "cgroup v2"},
		{Check: "nodes", Object: "n1", Status: Error, Found: "Ready: RuntimeNotServed", Why: "containerd is away", Remedy: "start it"},
	}
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `OK       cgroups: cgroup v2
ERROR    nodes (n1): Ready: RuntimeNotServed
         why: containerd is away
         do:  start it

2 checks: 1 ok, 0 info, 0 warnings, 1 errors, 0 unknown
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

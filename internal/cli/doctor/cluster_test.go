package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

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
	labelled []string          // the nodes with the label numalet.dev/exclusive-cpus
	affixes  [2]string         // prefix and suffix of the names of the policies
	warns    string            // the policy whose binding only warns
	unbound  string            // the policy that has no binding
	reserved string            // status of the condition CPUsReserved of each NodeTopology; "" if it has none
	queue    string            // status of the condition Available of the APIService of the queue API; "" if there is no APIService
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
		topology: map[string]string{"n1": "True", "n2": "True"}, labelled: []string{"n1", "n2"}, queue: "True",
		objects: []runtime.Object{
			&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: settled}, Status: appsv1.DaemonSetStatus{NumberReady: 2, CurrentNumberScheduled: 2, DesiredNumberScheduled: 2}},
			&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: "numalet-controller"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
			},
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"config.yaml": `gpu-exempt-namespaces: ""`}},
			&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: "numalet-controller", Labels: map[string]string{"app.kubernetes.io/name": "numalet-controller"}},
				Status:     appsv1.DeploymentStatus{ReadyReplicas: 2},
			},
			agentOn("n1"), agentOn("n2"),
		},
	}
}

// plugin adds the DaemonSet of another device plugin for GPUs. The argument `image` is the image of
// that plugin. If `ours` is true, the method also adds the DaemonSet of numalet-nvml.
func (w *world) plugin(image string, ours bool) {
	spec := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
	w.objects = append(w.objects, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gpu", Name: "nvidia"}, Spec: appsv1.DaemonSetSpec{Template: spec},
		Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 1},
	})
	if ours {
		w.objects = append(w.objects, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: "numalet-nvml", Labels: map[string]string{"app.kubernetes.io/name": "numalet-nvml"}}})
	}
}

// agentOn returns the pod of the agent of a node.
func agentOn(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "numalet-system", Name: "numalet-" + node, Labels: map[string]string{"app.kubernetes.io/name": "numalet"}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// remove removes all objects that have the same type as one of the arguments.
func (w *world) remove(like ...runtime.Object) {
	w.objects = slices.DeleteFunc(w.objects, func(o runtime.Object) bool {
		return slices.ContainsFunc(like, func(l runtime.Object) bool { return reflect.TypeOf(l) == reflect.TypeOf(o) })
	})
}

func (w *world) clients(t *testing.T) Clients {
	t.Helper()
	kube := kubefake.NewClientset(w.objects...)
	for _, name := range w.policies {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		binding.Name = w.affixes[0] + name + w.affixes[1]
		binding.Spec.PolicyName, binding.Spec.ValidationActions = binding.Name, []admissionv1.ValidationAction{admissionv1.Deny}
		if name == w.warns {
			binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
		}
		objects := []runtime.Object{&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: binding.Name}}}
		if name != w.unbound {
			objects = append(objects, binding)
		}
		for _, object := range objects {
			if err := kube.Tracker().Add(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range w.labelled {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelExclusiveCPUs: "true"}}}
		if err := kube.Tracker().Add(node); err != nil {
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
	return Clients{Kube: kube, Dynamic: w.dynamic(t), Now: func() time.Time { return now }}
}

// dynamic returns a client with the NodeTopologies and the APIService.
func (w *world) dynamic(t *testing.T) *fake.FakeDynamicClient {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{v1alpha1.NodeTopologyResource(): "NodeTopologyList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	add := func(resource schema.GroupVersionResource, kind, name string, conditions ...any) {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": conditions},
		}}
		if err := client.Tracker().Create(resource, object, ""); err != nil {
			t.Fatal(err)
		}
	}
	for name, ready := range w.topology {
		conditions := []any{map[string]any{"type": "Ready", "status": ready, "reason": "RuntimeNotServed", "message": "containerd is away"}}
		if w.reserved != "" {
			conditions = append(conditions, map[string]any{"type": "CPUsReserved", "status": w.reserved, "reason": "NoneReserved", "message": "no CPU is reserved"})
		}
		add(v1alpha1.NodeTopologyResource(), "NodeTopology", name, conditions...)
	}
	if w.queue != "" {
		resource := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
		add(resource, "APIService", "v1alpha1.queue.numalet.dev", map[string]any{"type": "Available", "status": w.queue, "message": "no endpoints"})
	}
	if !slices.Contains(w.crds, "nodetopologies") {
		client.PrependReactor("list", "nodetopologies", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(v1alpha1.NodeTopologyResource().GroupResource(), "")
		})
	}
	return client
}

// TestPolicies checks that numalet doctor looks for each validating admission policy of
// deploy/admission.
func TestPolicies(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/admission/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployed []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for object := range strings.SplitSeq(string(text), "\n---\n") {
			policy := admissionv1.ValidatingAdmissionPolicy{}
			if err := yaml.Unmarshal([]byte(object), &policy); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if policy.Kind == "ValidatingAdmissionPolicy" {
				deployed = append(deployed, policy.Name)
			}
		}
	}
	slices.Sort(deployed)
	if diff := cmp.Diff(deployed, policies()); diff != "" {
		t.Errorf("policies of deploy/admission (-) and of the check (+):\n%s", diff)
	}
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
		"too old":                {func(w *world) { w.version = "v1.33.4" }, "kubernetes-version error: v1.33.4"},
		"old":                    {func(w *world) { w.version = "v1.35.0-eks-1" }, "kubernetes-version warning: v1.35.0-eks-1"},
		"no tenants":             {func(w *world) { w.crds = w.crds[:3] }, "custom-resources error: numalet.dev/v1alpha1 lacks tenants"},
		"no policies":            {func(w *world) { w.policies = w.policies[2:] }, "admission-policies error: missing: numalet-bindings, numalet-changes"},
		"policies with a prefix": {func(w *world) { w.affixes = [2]string{"acme-", "-1"} }, ""},
		"one of them is missing": {
			func(w *world) { w.affixes[0], w.policies = "acme-", w.policies[1:] },
			"admission-policies error: missing: acme-numalet-bindings",
		},
		"policies that refuse nothing": {
			func(w *world) { w.warns, w.unbound = "numalet-tenants", "numalet-tolerance" },
			"admission-policies error: without a binding with the action Deny: numalet-tenants, numalet-tolerance",
		},
		"nodes without reserved CPUs": {
			func(w *world) { w.reserved = "False" },
			"nodes warning: CPUsReserved: NoneReserved\nnodes warning: CPUsReserved: NoneReserved",
		},
		"no agent": {func(w *world) { w.remove(&appsv1.DaemonSet{}) }, "agent error: no DaemonSet of Numalet in namespace numalet-system"},
		"an agent is away": {
			func(w *world) { w.objects[0].(*appsv1.DaemonSet).Status.NumberReady = 1 },
			"agent error: 1 of 2 pods are ready",
		},
		"no pod of an agent is created": {
			func(w *world) {
				w.objects[0].(*appsv1.DaemonSet).Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 2}
			},
			"agent error: 0 of 2 pods were created",
		},
		"a pool without nodes": {
			func(w *world) { w.objects[0].(*appsv1.DaemonSet).Status = appsv1.DaemonSetStatus{} },
			"agent info: no node matches the nodeSelector",
		},
		"a node has left its pool": {
			func(w *world) { w.labelled = append(w.labelled, "n3") },
			"node-labels error: the node has the label numalet.dev/exclusive-cpus, but no pod of the agent",
		},
		"not installed": {
			func(w *world) { *w = world{version: w.version} },
			"custom-resources error: numalet.dev/v1alpha1 lacks gpugroups, jobs, nodetopologies, tenants\nadmission-policies error: missing: " + strings.Join(policies(), ", ") +
				"\nagent error: no DaemonSet of Numalet in namespace numalet-system\ncontroller info: no controller is installed",
		},
		"no controller": {
			func(w *world) {
				w.remove(&appsv1.Deployment{}, &coordinationv1.Lease{})
				w.topology, w.queue = nil, ""
			}, "controller info: no controller is installed",
		},
		"the controller was uninstalled": {
			func(w *world) {
				w.remove(&appsv1.Deployment{})
				w.objects[1].(*coordinationv1.Lease).Spec.RenewTime = &metav1.MicroTime{Time: now.Add(-time.Hour)}
			}, "controller info: no controller is installed",
		},
		"the controller does not start": {
			func(w *world) {
				w.remove(&coordinationv1.Lease{})
				w.objects[2].(*appsv1.Deployment).Status.ReadyReplicas = 0
			}, "controller error: there is no lease numalet-controller; 0 replicas of the controller are ready",
		},
		"the leader has left": {
			func(w *world) { *w.objects[1].(*coordinationv1.Lease).Spec.HolderIdentity = "" },
			"controller error: the lease numalet-controller has no holder; 2 replicas of the controller are ready",
		},
		"the queue API is not available": {
			func(w *world) { w.queue = "False" },
			"queue-api error: the APIService is not available: no endpoints",
		},
		"nobody leads": {
			func(w *world) {
				w.objects[1].(*coordinationv1.Lease).Spec.RenewTime = &metav1.MicroTime{Time: now.Add(-time.Minute)}
			},
			"controller error: numalet-controller-0_x renewed the lease 1m0s ago; 2 replicas of the controller are ready",
		},
		"a node is not served":           {func(w *world) { w.topology["n2"] = "False" }, "nodes error: Ready: RuntimeNotServed"},
		"no node":                        {func(w *world) { w.topology = nil }, "nodes warning: 0 of 0 nodes with an agent serve exclusive CPUs"},
		"another plugin":                 {func(w *world) { w.plugin("nvcr.io/nvidia/k8s-device-plugin:v0.18", true) }, "nvidia-plugin warning: NVIDIA's device plugin runs"},
		"another plugin of a cloud":      {func(w *world) { w.plugin("gke.gcr.io/nvidia-gpu-device-plugin:1.2", true) }, "nvidia-plugin warning: NVIDIA's device plugin runs"},
		"AMD's plugin":                   {func(w *world) { w.plugin("docker.io/rocm/k8s-device-plugin:1.31", true) }, ""},
		"another plugin instead of ours": {func(w *world) { w.plugin("nvcr.io/nvidia/k8s-device-plugin:v0.18", false) }, "nvidia-plugin info: NVIDIA's device plugin runs, and numalet-nvml is not installed"},
		"GPU feature discovery, with the image of the plugin": {
			func(w *world) {
				w.plugin("nvcr.io/nvidia/k8s-device-plugin:v0.18", true)
				containers := &w.objects[len(w.objects)-2].(*appsv1.DaemonSet).Spec.Template.Spec.Containers
				(*containers)[0].Command = []string{"gpu-feature-discovery"}
				*containers = append(*containers, corev1.Container{Image: (*containers)[0].Image, Command: []string{"config-manager"}})
			},
			"",
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

// TestNodesSummary checks that a node counts as serving exclusive CPUs if its condition Ready is true,
// whatever its other conditions are. The text of the report has one finding for many nodes.
func TestNodesSummary(t *testing.T) {
	w := installed()
	w.reserved, w.topology = "False", map[string]string{}
	for i := range 12 {
		w.topology[fmt.Sprintf("n%02d", i)] = "True"
	}
	report, err := checkNodes(t.Context(), w.clients(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := "12 of 12 nodes with an agent serve exclusive CPUs"; len(report) != 13 || report[0].Found != want {
		t.Errorf("%d findings, the first is %q, want 13 and %q", len(report), report[0].Found, want)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if n, want := strings.Count(text.String(), "CPUsReserved: NoneReserved"), "and 9 more)"; n != 1 || !strings.Contains(text.String(), want) {
		t.Errorf("%d findings about reserved CPUs, want one with %q:\n%s", n, want, &text)
	}
}

// TestNoAnswer checks that a cluster that does not answer gets one finding, and not one for each check,
// each after its own timeout. An API server that refuses a request does answer.
func TestNoAnswer(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "version"}, "", errors.New("no"))
	for name, tc := range map[string]struct {
		err  error
		want int // findings about the API server
	}{"no route": {errors.New("dial tcp: i/o timeout"), 1}, "forbidden": {forbidden, 0}} {
		clients := installed().clients(t)
		clients.Kube.(*kubefake.Clientset).PrependReactor("get", "version", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		report := Cluster(t.Context(), clients)
		got := 0
		for _, f := range report {
			if f.Check == "api-server" {
				got++
			}
		}
		if got != tc.want || got == 1 && len(report) != 1 {
			t.Errorf("%s: %+v", name, report)
		}
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

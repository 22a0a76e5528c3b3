package chart

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the expected files anew")

const deploy = "../../"

func load(t *testing.T) *helmchart.Chart {
	t.Helper()
	c, err := Load(deploy + "chart")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUninstallKeepsObjects checks that helm uninstall does not delete the custom resource
// definitions. Deleting them would also delete all Tenants, GPUGroups and Jobs.
func TestUninstallKeepsObjects(t *testing.T) {
	rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds := strings.Count(rendered["crds.yaml"], "\nkind: CustomResourceDefinition\n")
	if kept := strings.Count(rendered["crds.yaml"], "helm.sh/resource-policy: keep\n"); kinds < 4 || kept != kinds {
		t.Errorf("%d of %d custom resource definitions stay", kept, kinds)
	}
}

// TestPoliciesNameTheNamespace checks that the admission policies treat the release's namespace as
// Numalet's own, although helm creates it without labels. Without this, the policies would refuse
// the agents' pods.
func TestPoliciesNameTheNamespace(t *testing.T) {
	rendered, err := Render(load(t), Target{Release: "numa", Namespace: "platform"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	policies := rendered["admission.yaml"]
	for _, want := range []string{"operator: NotIn, values: [kube-system, platform]", "['kube-system', 'kube-public', 'kube-node-lease', 'platform']"} {
		if !strings.Contains(policies, want) {
			t.Errorf("no policy has %q", want)
		}
	}
}

// golden checks that a text is equal to the content of a file. With the flag -rewrite, it writes
// the text to the file first.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; \"go test -rewrite\" writes it anew):\n%s", file, diff)
	}
}

func TestLint(t *testing.T) {
	for _, m := range lint.All(deploy+"chart", nil, "lint", false).Messages {
		if m.Severity > support.InfoSev {
			t.Errorf("%s: %v", m.Path, m.Err)
		}
	}
}

// TestManifests checks the files that are rendered from the chart into the folders for kustomize,
// such as deploy/daemonset. They must be equal to what the chart renders now.
func TestManifests(t *testing.T) {
	files, err := Manifests(load(t))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		golden(t, deploy+path, text)
	}
}

// values parses settings in YAML.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := sigsyaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPools checks the DaemonSets and the Deployment that the chart renders for typical settings,
// by comparing them with files in testdata.
func TestPools(t *testing.T) {
	for name, tc := range map[string]struct {
		to     Target
		values string
	}{
		"defaults": {Target{Release: "numalet", Namespace: "numalet-system"}, ``},
		"pools": {Target{Release: "numa", Namespace: "platform"}, `
pools:
  - {name: cpu, nodeSelector: {pool: cpu}, gpu: false, settings: {reserved-cpus: 0-3, full-cores: true}}
  - {name: gpu, nodeSelector: {pool: gpu, example.com/gpu: ""}, tolerations: [{key: gpu, operator: Exists}], maxUnavailable: 10%, settings: {gpu-shares: 2}}
gpu: {enabled: true, driverRoot: /run/nvidia/driver}
nodeMetrics: {enabled: true, port: 9129}
podMonitor: {enabled: true, tokenSecret: {name: scraper}}
resources: {agent: {limits: {memory: 512Mi}}, nvml: {requests: {cpu: 10m}}}
`},
		"k3s": {Target{Release: "numalet", Namespace: "kube-numalet"}, `
kubelet: {preset: k3s}
controller: {enabled: false}
`},
		"eks":          {Target{Release: "numalet", Namespace: "numalet-system"}, `kubelet: {preset: eks}`},
		"bottlerocket": {Target{Release: "numalet", Namespace: "numalet-system"}, `kubelet: {preset: bottlerocket, rootDir: /data/kubelet}`},
		"profiles": {Target{Release: "numalet", Namespace: "numalet-system"}, `
controller:
  kubeSchedulerConfiguration:
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles: [{schedulerName: numalet-batch, percentageOfNodesToScore: 20}]
`},
		"options": {Target{Release: "numalet", Namespace: "gke"}, `
containerd: {installer: undo, settings: {containerd-unit: k0scontroller.service, start-first: "k8s-app in (kube-proxy,cilium)"}}
podMonitor: {enabled: true, labels: {release: prometheus}, tokenSecret: {name: scraper}}
networkPolicy: {enabled: true}
priorityQuota: {enabled: true}
seLinuxOptions: {type: spc_t}
controller:
  replicas: 3
  nodeSelector: {pool: system}
  tolerations: [{key: CriticalAddonsOnly, operator: Exists}]
  settings: {reserve-after: none, bind-rate: 100}
image: {repository: example.com/numalet, digest: "sha256:` + strings.Repeat("a", 64) + `", pullSecrets: [{name: pull}]}
`},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := Render(load(t), tc.to, values(t, tc.values))
			if err != nil {
				t.Fatal(err)
			}
			for _, same := range []string{"crds.yaml", "admission.yaml", "rbac.yaml"} { // the golden file leaves these templates out, because other tests check them
				delete(rendered, same)
			}
			golden(t, "testdata/"+name+".yaml", Join(rendered))
		})
	}
}

func TestSchemaRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"an unknown key":            {`agents: {}`, "agents"},
		"an unknown key of a pool":  {`pools: [{nodeselector: {}}]`, "nodeselector"},
		"no pool":                   {`pools: []`, "pools"},
		"a name with a dot":         {`pools: [{name: a.b}]`, "name"},
		"another preset":            {`kubelet: {preset: windows}`, "preset"},
		"a relative path":           {`kubelet: {config: config.yaml}`, "config"},
		"another installer":         {`containerd: {installer: maybe}`, "installer"},
		"a toleration as a text":    {`controller: {tolerations: [control-plane]}`, "tolerations"},
		"an unknown effect":         {`controller: {tolerations: [{key: a, effect: NoStart}]}`, "effect"},
		"a list for containerd":     {`containerd: {settings: {restart-timeout: [1m]}}`, "restart-timeout"},
		"no replica":                {`controller: {replicas: 0}`, "replicas"},
		"a short digest":            {`image: {digest: "sha256:abc"}`, "digest"},
		"a text as a switch":        {`gpu: {enabled: "no"}`, "enabled"},
		"a list as a setting":       {`pools: [{settings: {reserved-cpus: [0, 1]}}]`, "reserved-cpus"},
		"a port out of range":       {`nodeMetrics: {port: 65536}`, "port"},
		"no node at a time":         {`pools: [{maxUnavailable: 0}]`, "maxUnavailable"},
		"no part of the nodes":      {`pools: [{maxUnavailable: 0%}]`, "maxUnavailable"},
		"metrics without a token":   {`podMonitor: {enabled: true}`, "name"},
		"two pools without a name":  {`pools: [{nodeSelector: {a: b}}, {nodeSelector: {a: c}}]`, "each needs a name"},
		"two pools, one everywhere": {`pools: [{name: a}, {name: b, nodeSelector: {a: c}}]`, "a nodeSelector"},
		"one selector twice":        {`pools: [{name: a, nodeSelector: {a: b}}, {name: b, nodeSelector: {a: b}}]`, `each node of pool "a" is also in pool "b"`},
		"a pool in another pool":    {`pools: [{name: a, nodeSelector: {a: b}}, {name: b, nodeSelector: {a: b, c: d}}]`, `each node of pool "b" is also in pool "a"`},
		"a name of another object":  {`pools: [{name: a, nodeSelector: {a: b}}, {name: nvml-a, nodeSelector: {a: c}}]`, `no pool may have the name "nvml-a"`},
		"one name twice":            {`pools: [{name: a, nodeSelector: {a: b}}, {name: a, nodeSelector: {a: c}}]`, "two pools have the name"},
	} {
		_, err := Render(load(t), Target{Release: "numalet", Namespace: "numalet-system"}, values(t, tc.values))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, tc.want)
		}
	}
}

// TestSameAsKustomize checks that the chart installs the same objects as the folders for kustomize.
func TestSameAsKustomize(t *testing.T) {
	for name, tc := range map[string]struct {
		minor                 int
		kustomization, values string
	}{
		"cluster": {0, `
resources: [../cluster, ../controller/admission]
`, `{checksums: false}`},
		"queue API": {0, `
resources: [../cluster, ../controller/queueapi, ../controller/admission]
`, `{checksums: false, queueAPI: {enabled: true}}`},
		"nodes": {0, `
resources: [../crds, ../daemonset, ../admission]
`, `{checksums: false, controller: {enabled: false}}`},
		"GPUs": {0, `
resources: [../cluster, ../controller/admission]
components: [../gpu]
`, `{checksums: false, gpu: {enabled: true}}`},
		"metrics of nodes": {0, `
resources: [../crds, ../daemonset, ../admission]
components: [../nodemetrics]
`, `{checksums: false, controller: {enabled: false}, nodeMetrics: {enabled: true}}`},
		"containerd": {0, `
resources: [../crds, ../daemonset, ../admission, ../containerd]
`, `{checksums: false, controller: {enabled: false}, containerd: {installer: install}}`},
		"containerd as before": {0, `
resources: [../crds, ../daemonset, ../admission, ../containerd-undo]
`, `{checksums: false, controller: {enabled: false}, containerd: {installer: undo}}`},
		"cluster before 1.36": {35, `
resources: [../cluster, ../controller/queueapi, ../controller/admission]
components: [../before-1.36/policies]
`, `{checksums: false, queueAPI: {enabled: true}}`},
		"nodes before 1.36": {34, `
resources: [../crds, ../daemonset, ../before-1.36/admission]
`, `{checksums: false, controller: {enabled: false}}`},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace, Minor: tc.minor}, values(t, tc.values))
			if err != nil {
				t.Fatal(err)
			}
			got, want := objects(t, withoutOwnName(Join(rendered))), objects(t, build(t, tc.kustomization))
			delete(want, "Namespace numalet-system") // helm --create-namespace creates it
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the chart differs from kustomize (-kustomize +chart):\n%s", diff)
			}
		})
	}
}

// withoutOwnName removes the name of the namespace from the two policies of the chart that recognize
// Numalet's namespace by its name. Those of kustomize recognize it only by its label.
func withoutOwnName(manifest string) string {
	return strings.NewReplacer("[kube-system, numalet-system]", "[kube-system]", "'kube-node-lease', 'numalet-system'", "'kube-node-lease'").Replace(manifest)
}

// build returns the manifest that kustomize builds from a kustomization.yaml with the content given
// as `overlay`. Paths in this content are relative to a temporary folder in deploy, in which build
// writes the file.
func build(t *testing.T, overlay string) string {
	t.Helper()
	disk := filesys.MakeFsOnDisk()
	dir, err := os.MkdirTemp(deploy, "overlay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	header := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(header+overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := krusty.MakeKustomizer(&krusty.Options{PluginConfig: types.DisabledPluginConfig()}).Run(disk, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// objects returns the objects of a manifest, by kind and name. To make the output of Helm and of
// kustomize comparable, it sorts lists of named elements, and leaves out what only one of the two
// tools adds.
func objects(t *testing.T, manifest string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	for {
		object := map[string]any{}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object) == 0 {
			continue
		}
		if object["kind"] == "ConfigMap" {
			data := map[string]any{}
			if err := sigsyaml.Unmarshal([]byte(object["data"].(map[string]any)["config.yaml"].(string)), &data); err != nil {
				t.Fatal(err)
			}
			object["data"] = data
		}
		object = plain(object).(map[string]any)
		metadata := object["metadata"].(map[string]any)
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "helm.sh/resource-policy")
		}
		if object["kind"] == "ConfigMap" {
			delete(metadata, "labels")
		}
		all[object["kind"].(string)+" "+metadata["name"].(string)] = object
	}
}

// plain sorts lists of named elements by name, and removes the hash that kustomize appends to the
// name of a ConfigMap.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	case string:
		if strings.HasPrefix(v, "numalet-") && len(v) == len("numalet-")+10 && strings.Trim(v[8:], "0123456789bcdfghkmt2456789") == "" {
			return "numalet"
		}
		return strings.Join(strings.Fields(v), " ") // Helm and kustomize break long texts into lines differently
	}
	return v
}

func nameOf(v any) string {
	if m, ok := v.(map[string]any); ok {
		if name, ok := m["name"].(string); ok {
			return name
		}
	}
	return ""
}

// TestIsolation checks a pool, which is a group of nodes with settings and a DaemonSet of its own.
// To isolate CPUs, the agent needs a capability, and mounts of the files that it writes. The
// DaemonSet of a pool must have them only if isolation is enabled for the pool. deploy/isolation
// has the same mounts and the same capability.
func TestIsolation(t *testing.T) {
	for on, want := range map[any]int{false: 0, true: 3, "false": 0, "true": 3} {
		values := map[string]any{"pools": []any{map[string]any{"settings": map[string]any{"isolation": on}}}}
		rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, values)
		if err != nil {
			t.Fatal(err)
		}
		text := rendered["daemonset.yaml"]
		got := strings.Count(text, "{name: irq, mountPath: /host/proc/irq}") + strings.Count(text, "{name: workqueue, mountPath: /sys/devices/virtual/workqueue}") + strings.Count(text, "add: [")
		if got != want {
			t.Errorf("isolation %#v: %d mounts and capabilities, want %d", on, got, want)
		}
	}
}

// TestNetworkPolicy checks that the NetworkPolicy allows connections to all ports of the
// controller. One of them is the port of the queue API, an aggregated API that the controller
// serves. Without this port, the API server could not forward requests of kubectl numalet.
func TestNetworkPolicy(t *testing.T) {
	rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, values(t, `networkPolicy: {enabled: true}`))
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, Join(rendered))
	containers, _, err := unstructured.NestedSlice(all["Deployment numalet-controller"], "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("containers of the controller: %v, %v", containers, err)
	}
	ingress, _, err := unstructured.NestedSlice(all["NetworkPolicy numalet-controller"], "spec", "ingress")
	if err != nil || len(ingress) != 1 {
		t.Fatalf("ingress rules: %v, %v", ingress, err)
	}
	var want, got []any
	for _, port := range containers[0].(map[string]any)["ports"].([]any) {
		want = append(want, port.(map[string]any)["name"])
	}
	for _, port := range ingress[0].(map[string]any)["ports"].([]any) {
		got = append(got, port.(map[string]any)["port"])
	}
	byText := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, got, byText); diff != "" {
		t.Errorf("ports that connections are allowed to (-want +got):\n%s", diff)
	}
}

// TestMaxUnavailable checks on how many nodes of a pool the DaemonSets are updated at a time.
func TestMaxUnavailable(t *testing.T) {
	rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, values(t, `
pools:
  - {name: a, nodeSelector: {pool: a}, maxUnavailable: 10%}
  - {name: b, nodeSelector: {pool: b}, maxUnavailable: 7}
  - {name: c, nodeSelector: {pool: c}}
gpu: {enabled: true}
containerd: {installer: install}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for name, object := range objects(t, Join(rendered)) {
		if strings.HasPrefix(name, "DaemonSet ") {
			value, _, err := unstructured.NestedFieldNoCopy(object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
			if err != nil {
				t.Fatal(err)
			}
			got[strings.TrimPrefix(name, "DaemonSet ")] = fmt.Sprint(value)
		}
	}
	want := map[string]any{}
	for _, program := range []string{"numalet", "numalet-nvml", "numalet-containerd"} {
		want[program+"-a"], want[program+"-b"], want[program+"-c"] = "10%", "7", "1"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("maxUnavailable (-want +got):\n%s", diff)
	}
}

// TestFlowSchemas checks that the FlowSchemas are installed with the controller, unless they are
// disabled, and that they name the namespace of the release.
func TestFlowSchemas(t *testing.T) {
	for text, want := range map[string]int{
		``:                              3,
		`flowSchemas: {enabled: false}`: 0,
		`controller: {enabled: false}`:  0,
	} {
		rendered, err := Render(load(t), Target{Release: "numa", Namespace: "platform"}, values(t, text))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for name, object := range objects(t, rendered["rbac.yaml"]) {
			if strings.HasPrefix(name, "FlowSchema ") {
				got++
				if !strings.Contains(fmt.Sprint(object), "namespace:platform") {
					t.Errorf("%s does not name the namespace platform: %v", name, object)
				}
			}
		}
		if got != want {
			t.Errorf("%q: %d FlowSchemas, want %d", text, got, want)
		}
	}
}

// TestMonitors checks that the series of each program have a job of their own, and name the node or
// the replica in the label "instance", as deploy/monitoring requires.
func TestMonitors(t *testing.T) {
	rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, values(t, `
nodeMetrics: {enabled: true}
podMonitor: {enabled: true, tokenSecret: {name: scraper}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for name, object := range objects(t, rendered["options.yaml"]) {
		endpoints, _, err := unstructured.NestedSlice(object, "spec", "podMetricsEndpoints")
		if err != nil {
			t.Fatal(err)
		}
		for _, endpoint := range endpoints {
			labels := map[string]any{"monitor": name, "path": endpoint.(map[string]any)["path"]}
			relabelings, _ := endpoint.(map[string]any)["relabelings"].([]any)
			for _, r := range relabelings {
				rule := r.(map[string]any)
				value := rule["replacement"]
				if value == nil {
					value = rule["sourceLabels"]
				}
				labels[rule["targetLabel"].(string)] = value
			}
			got = append(got, labels)
		}
	}
	pod, node := []any{"__meta_kubernetes_pod_name"}, []any{"__meta_kubernetes_pod_node_name"}
	want := []map[string]any{
		{"monitor": "PodMonitor numalet", "path": "/metrics", "job": "numalet-agent", "instance": node},
		{"monitor": "PodMonitor numalet", "path": "/metrics/deviceplugin", "job": "numalet-deviceplugin", "instance": node},
		{"monitor": "PodMonitor numalet-controller", "path": "/metrics", "job": "numalet-controller", "instance": pod},
	}
	byPath := cmpopts.SortSlices(func(a, b map[string]any) bool {
		return fmt.Sprint(a["monitor"], a["path"]) < fmt.Sprint(b["monitor"], b["path"])
	})
	if diff := cmp.Diff(want, got, byPath); diff != "" {
		t.Errorf("labels of the series (-want +got):\n%s", diff)
	}
}

// TestPoliciesOfControllerApart checks that, before Kubernetes 1.36, the folder with the controller's
// admission policies has no object that is also in the folder with the other policies. If it had
// one, deleting the policies of the controller would delete this object, which is still needed.
func TestPoliciesOfControllerApart(t *testing.T) {
	others := objects(t, build(t, "resources: [../before-1.36/admission]\n"))
	own := objects(t, build(t, "resources: [../before-1.36/scheduler-name]\n"))
	for name := range own {
		if others[name] != nil {
			t.Errorf("%s is in both folders", name)
		}
	}
	if len(own) == 0 || len(others) == 0 {
		t.Errorf("%d policies of the controller, and %d others", len(own), len(others))
	}
}

// TestRestartsController checks that a change of the KubeSchedulerConfiguration restarts the
// controller. The controller reads this configuration only when it starts.
func TestRestartsController(t *testing.T) {
	template := func(percentage int) any {
		rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, values(t, fmt.Sprintf(`
controller: {kubeSchedulerConfiguration: {percentageOfNodesToScore: %d}}`, percentage)))
		if err != nil {
			t.Fatal(err)
		}
		found, _, _ := unstructured.NestedMap(objects(t, rendered["controller.yaml"])["Deployment numalet-controller"], "spec", "template")
		return found
	}
	if template(10) == nil || cmp.Equal(template(10), template(20)) {
		t.Error("another KubeSchedulerConfiguration does not change the template of the controller's pods")
	}
}

// TestDrain checks that the PodDisruptionBudget lets the node of the controller be drained, even if
// there is only one replica.
func TestDrain(t *testing.T) {
	for replicas, want := range map[int32]int32{1: 0, 2: 1, 3: 2} {
		rendered, err := Render(load(t), Target{Release: "numalet", Namespace: namespace}, map[string]any{"controller": map[string]any{"replicas": replicas}})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range decode(t, rendered["controller.yaml"]) {
			budget, ok := object.(*policyv1.PodDisruptionBudget)
			if !ok {
				continue
			}
			left := replicas
			if most := budget.Spec.MaxUnavailable; most != nil {
				left -= most.IntVal
			}
			if least := budget.Spec.MinAvailable; least != nil {
				left = least.IntVal
			}
			if left != want {
				t.Errorf("of %d replicas, %d must stay, want %d", replicas, left, want)
			}
		}
	}
}

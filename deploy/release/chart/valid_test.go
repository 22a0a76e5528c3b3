package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestValid checks the fields of each object that the chart renders. The kind of the object must
// have these fields. Each field must have a value of the right type, and must occur only once.
func TestValid(t *testing.T) {
	all := map[string]string{
		"defaults": ``,
		"every option": `
pools:
  - {name: cpu, nodeSelector: {kubernetes.io/os: linux, pool: cpu}, gpu: false, tolerations: [], settings: {reserved-cpus: 0, isolation: true}}
  - {name: gpu, nodeSelector: {pool: gpu}, tolerations: [{key: a, operator: Exists, tolerationSeconds: 30}], settings: {}}
gpu: {enabled: true, driverRoot: /run/nvidia/driver}
containerd: {installer: install}
controller: {kubeSchedulerConfiguration: {apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}}
nodeMetrics: {enabled: true}
podMonitor: {enabled: true, labels: {a: "1"}, tokenSecret: {name: scraper}}
seLinuxOptions: {type: spc_t, level: "s0"}
networkPolicy: {enabled: true}
priorityQuota: {enabled: true, pods: 5000}
`,
		"texts that YAML reads as other types": `
pools:
  - {name: "4090", nodeSelector: {gpu: "4090", new: "true"}}
  - {name: "off", nodeSelector: {gpu: "off"}}
gpu: {enabled: true}
containerd: {installer: undo}
controller: {memoryLimit: "1887436800", settings: {bind-rate: 100, profiling: true}}
image: {tag: "1.0", pullSecrets: [{name: "1"}]}
podMonitor: {enabled: true, tokenSecret: {name: "1", key: "2"}}
`,
	}
	for _, preset := range []string{"kubeadm", "k3s", "eks", "bottlerocket"} {
		all[preset] = `{gpu: {enabled: true}, containerd: {installer: install}, kubelet: {preset: ` + preset + `, rootDir: /data/kubelet}}`
	}
	for name, text := range all {
		for _, minor := range []int{34, 36} {
			t.Run(fmt.Sprint(name, " on 1.", minor), func(t *testing.T) {
				rendered, err := Render(load(t), Target{Release: "numalet", Namespace: "platform", Minor: minor}, values(t, text))
				if err != nil {
					t.Fatal(err)
				}
				if n := len(decode(t, Join(rendered))); n < 20 {
					t.Errorf("only %d objects were checked", n)
				}
			})
		}
	}
}

// decode decodes the objects of a manifest. It refuses unknown and duplicate fields, as the API
// server does with fieldValidation=Strict. It leaves out kinds that are not part of Kubernetes
// itself.
func decode(t *testing.T, manifest string) (all []runtime.Object) {
	t.Helper()
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		object, kind, err := strict.Decode(document, nil, nil)
		if kind != nil && (kind.Kind == "CustomResourceDefinition" || kind.Kind == "APIService" || kind.Kind == "PodMonitor") || runtime.IsMissingKind(err) && isComment(string(document)) {
			continue
		}
		if err != nil {
			t.Errorf("%v: %v in\n%s", kind, err, document)
		}
		all = append(all, object)
	}
}

// isComment reports whether a YAML document has only comments, and no object.
func isComment(document string) bool {
	for line := range strings.Lines(document) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

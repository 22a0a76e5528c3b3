//go:build e2e

package admission

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const policies, definitions = "../../../deploy/admission", "../../../deploy/crds"

// server installs the admission policies of deploy/admission and waits until those for pods are
// active. It returns a client and a config for the API server under test.
func server(t *testing.T) (*kubernetes.Clientset, *rest.Config) {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		t.Skip("KUBECONFIG names no API server")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	install(t, dynamic.NewForConfigOrDie(config), policies)
	await(t, client)
	return client, config
}

// install applies all objects in the YAML files of a folder of the repository.
func install(t *testing.T, client dynamic.Interface, folder string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing in %s: %v", folder, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		for _, object := range read(t, file) {
			_, err := client.Resource(kind(object)).Apply(context.Background(), object.GetName(), object,
				metav1.ApplyOptions{FieldManager: "numalet-e2e", Force: true})
			if err != nil {
				t.Fatalf("apply %s: %v", filepath.Base(file), err)
			}
		}
	}
}

func read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for dec := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := dec.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		objects = append(objects, object)
	}
}

// kind returns the resource of an object, with the plural name that the API server uses in paths.
func kind(object *unstructured.Unstructured) schema.GroupVersionResource {
	plural := strings.ToLower(object.GetKind()) + "s"
	plural = strings.Replace(plural, "policys", "policies", 1)
	return object.GroupVersionKind().GroupVersion().WithResource(plural)
}

// await waits until the admission policies for pods are active. They must refuse a pod with an
// unknown CPU policy, and a pod with an annotation that only system pods may have. They must add a
// nodeSelector to a pod with exclusive CPUs. After a policy is created, the API server needs some
// time to compile it.
func await(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		unknown := pod("canary", "numalet.dev/cpu-policy", "unknown")
		tolerant := pod("canary", tolerance, "true")
		if dryRun(client, unknown) != nil && dryRun(client, tolerant) != nil && selected(client) {
			return
		}
	}
	t.Fatal("the policies are not in force after 30 s")
}

// selected reports whether the API server adds the nodeSelector to a pod that requests exclusive
// CPUs, which it does once the admission policy for this is active.
func selected(client *kubernetes.Clientset) bool {
	got, err := client.CoreV1().Pods("default").Create(context.Background(), pod("canary", "numalet.dev/cpu-policy", "single"), dry)
	return err == nil && got.Spec.NodeSelector["numalet.dev/exclusive-cpus"] == "true"
}

var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

func dryRun(client *kubernetes.Clientset, pod *corev1.Pod) error {
	_, err := client.CoreV1().Pods("default").Create(context.Background(), pod, dry)
	return err
}

//go:build e2e

package admission

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
)

const objects = "../../../api/v1alpha1/testdata/object/*.txt"

// TestObjects sends the object of every test case in api/v1alpha1/testdata/object to the API
// server. It compares the server's answer with the expected answer in the test case. Test cases
// about the status are left out, because the server ignores the status of an object that is
// created.
func TestObjects(t *testing.T) {
	client := customResources(t)
	files, err := filepath.Glob(objects)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", objects, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if strings.Contains(name, "-status") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tc, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			last := len(tc.Files) - 1
			got, err := send(t, client, tc.Files[:last])
			check(t, string(tc.Files[last].Data), got, err)
		})
	}
}

// customResources installs the custom resource definitions of deploy/crds. It waits until the API
// server serves objects of all of them, and until the admission policy for Jobs (numalet.dev) is
// active. Then it returns a client for the custom resources.
func customResources(t *testing.T) dynamic.Interface {
	t.Helper()
	_, config := server(t)
	client := dynamic.NewForConfigOrDie(config)
	install(t, client, definitions)
	orphan := object(t, []byte(job))
	orphan.SetLabels(nil)
	var served, kept error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		served = listAll(client)
		_, kept = collection(client, orphan).Create(context.Background(), orphan, dry)
		if served == nil && kept != nil && strings.Contains(kept.Error(), ofNobody) {
			return client
		}
	}
	t.Fatalf("not in force after 30 s: the custom resources are served: %v; a job of nobody is refused: %v", served, kept)
	return nil
}

// listAll lists the objects of each custom resource definition of deploy/crds. The API server starts
// to serve the definitions at different times.
func listAll(client dynamic.Interface) error {
	var failed []error
	for _, resource := range []schema.GroupVersionResource{v1alpha1.GPUGroupResource(), v1alpha1.JobResource(), v1alpha1.NodeTopologyResource(), v1alpha1.TenantResource()} {
		_, err := client.Resource(resource).List(context.Background(), metav1.ListOptions{})
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// send sends the last object of a test case and returns the server's answer. If the test case has
// two objects, the function creates the first one, and then sends the last one as an update of it.
func send(t *testing.T, client dynamic.Interface, sections []txtar.File) (*unstructured.Unstructured, error) {
	t.Helper()
	sent := object(t, sections[len(sections)-1].Data)
	to := collection(client, sent)
	if len(sections) == 1 {
		return to.Create(context.Background(), sent, dry)
	}
	old, err := to.Create(context.Background(), object(t, sections[0].Data), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Delete(context.Background(), old.GetName(), metav1.DeleteOptions{}) })
	sent.SetResourceVersion(old.GetResourceVersion())
	return to.Update(context.Background(), sent, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
}

// check compares the server's answer with the expected answer. The expected answer is either a
// spec, or the reasons why the server refuses the object, one in each line.
func check(t *testing.T, want string, got *unstructured.Unstructured, err error) {
	t.Helper()
	if !strings.HasPrefix(want, "spec:\n") {
		expectAll(t, err, strings.Split(strings.TrimSpace(want), "\n"))
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(map[string]any{"spec": got.Object["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(spec)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func expectAll(t *testing.T, err error, lines []string) {
	t.Helper()
	for _, line := range lines {
		expect(t, err, line)
	}
}

func object(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := utilyaml.Unmarshal(text, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func collection(client dynamic.Interface, o *unstructured.Unstructured) dynamic.ResourceInterface {
	all := client.Resource(kind(o))
	if o.GetNamespace() == "" {
		return all
	}
	return all.Namespace(o.GetNamespace())
}

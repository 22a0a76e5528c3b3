package v1alpha1

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestObjects validates the object of each testdata/object/*.txt against the schemas in
// deploy/crds, as an API server does. If the file has a section "old", the object is an update of
// the object in that section. The file also has the expected validation errors or, if no error is
// expected, the expected spec with its defaults.
func TestObjects(t *testing.T) {
	kinds := map[string]served{"Tenant": serve(t, "tenants"), "Job": serve(t, "jobs"), "GPUGroup": serve(t, "gpugroups")}
	scenario.Cases(t, "testdata/object/*.txt", func(t *testing.T, given []txtar.File) []txtar.File {
		last := len(given) - 1
		return []txtar.File{{Name: "answer", Data: []byte(answer(t, kinds, sections(t, given[:last])))}}
	})
}

// sections returns the objects of a test file by the name of their section.
func sections(t *testing.T, given []txtar.File) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for _, f := range given {
		object := map[string]any{}
		if err := utilyaml.Unmarshal(f.Data, &object); err != nil {
			t.Fatalf("section %s: %v", f.Name, err)
		}
		objects[f.Name] = object
	}
	return objects
}

func answer(t *testing.T, kinds map[string]served, objects map[string]map[string]any) string {
	t.Helper()
	object, old := objects["object"], objects["old"]
	kind, ok := kinds[fmt.Sprint(object["kind"])]
	if !ok {
		t.Fatalf("no kind %v", object["kind"])
	}
	if old != nil {
		if errs := kind.admit(t.Context(), old, nil); len(errs) > 0 {
			t.Fatalf("old: %v", errs.ToAggregate())
		}
	}
	errs := kind.admit(t.Context(), object, old)
	if len(errs) > 0 {
		var b strings.Builder
		for _, err := range errs {
			fmt.Fprintln(&b, err)
		}
		return b.String()
	}
	spec, err := yaml.Marshal(map[string]any{"spec": object["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	return string(spec)
}

// TestGuide checks that the schema in deploy/crds accepts the GPUGroups of the user guide.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/tasks/groups-and-quotas.md")
	if err != nil {
		t.Fatal(err)
	}
	admitted := 0
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		object := map[string]any{}
		if err := utilyaml.Unmarshal([]byte(block), &object); err != nil {
			continue // the code block has several YAML documents, and none of them is of numalet.dev
		}
		if object["kind"] == "GPUGroup" {
			admitted++
			if errs := serve(t, "gpugroups").admit(t.Context(), object, nil); len(errs) > 0 {
				t.Errorf("%s%v", block, errs.ToAggregate())
			}
		}
	}
	if admitted != 1 {
		t.Errorf("%d GPUGroups in the guide, want 1", admitted)
	}
}

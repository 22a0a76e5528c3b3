package v1alpha1

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// TestObjects sends the object of each testdata/object/*.txt to what an API server
// makes of deploy/crds, as an update of the file's section "old" where it has one,
// and compares the answer: the refusals, or the spec with its defaults.
func TestObjects(t *testing.T) {
	kinds := map[string]served{"Tenant": serve(t, "tenants"), "Job": serve(t, "jobs")}
	files, err := filepath.Glob("testdata/object/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/object: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			tc, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := answer(t, kinds, sections(t, tc))
			last := &tc.Files[len(tc.Files)-1]
			if *rewrite {
				last.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(tc), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(last.Data), got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// sections returns the objects of a case by the name of their section.
func sections(t *testing.T, tc *txtar.Archive) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for _, f := range tc.Files[:len(tc.Files)-1] {
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

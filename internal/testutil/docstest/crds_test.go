package docstest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// definition has those fields of a CustomResourceDefinition from which the reference page is
// generated.
type definition struct {
	Spec struct {
		Group string
		Names struct {
			Kind, Plural string
			ShortNames   []string
		}
		Scope    string
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

// schema is the OpenAPI schema of one field of a custom resource.
type schema struct {
	Type, Description, Format string
	Default                   any
	Enum                      []any
	Required                  []string
	Properties                map[string]schema
	Items                     *schema
	AdditionalProperties      *schema
}

// TestReferenceOfResources checks that the reference page of custom resources agrees with the
// CustomResourceDefinitions in deploy/crds. The test generates the page from these, and compares it
// with the page in docs/reference/crds.md.
func TestReferenceOfResources(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Custom resources\n\nThis page is generated from `deploy/crds`, which `make generate` writes from the types in `api/v1alpha1`.\n" +
		"`kubectl explain` shows the same. Numalet's Job (`njob`) is not the Job of `batch/v1`.\n")
	files, err := filepath.Glob(root + "/deploy/crds/numalet.dev_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, file := range files {
		var d definition
		if err := yaml.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatal(err)
		}
		d.write(&b)
	}
	scenario.Golden(t, root+"/docs/reference/crds.md", b.String())
}

func (d definition) write(b *strings.Builder) {
	names := d.Spec.Names
	for _, version := range d.Spec.Versions {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n", names.Kind, line(version.Schema.OpenAPIV3Schema.Description))
		fmt.Fprintf(b, "`%s/%s`, %s; `kubectl get %s.%s`", d.Spec.Group, version.Name, strings.ToLower(d.Spec.Scope), names.Plural, d.Spec.Group)
		if len(names.ShortNames) > 0 {
			fmt.Fprintf(b, ", short `%s`", strings.Join(names.ShortNames, "`, `"))
		}
		b.WriteString("\n\n| field | type | meaning |\n|---|---|---|\n")
		for _, part := range []string{"spec", "status"} {
			if field, ok := version.Schema.OpenAPIV3Schema.Properties[part]; ok {
				field.write(b, part)
			}
		}
	}
}

// write writes the rows of the reference table for the fields that the schema has, at all
// depths. The parameter `path` is the path of the field to which the schema belongs, such as
// "spec".
func (s schema) write(b *strings.Builder, path string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		path := path + "." + name
		meaning := line(field.Description)
		if slices.Contains(s.Required, name) {
			meaning = "Required. " + meaning
		}
		if field.Default != nil && field.Type != "object" {
			meaning += fmt.Sprintf(" Default: `%v`.", field.Default)
		}
		if len(field.Enum) > 0 {
			meaning += fmt.Sprintf(" One of `%s`.", strings.ReplaceAll(strings.Trim(fmt.Sprint(field.Enum), "[]"), " ", "`, `"))
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, field.kind(), cell(meaning))
		if name == "conditions" {
			continue // conditions have the same fields in every resource; reference/events.md lists their reasons
		}
		field.write(b, path)
		if field.Items != nil {
			field.Items.write(b, path+"[]")
		}
	}
}

// kind returns the type of a field in words, such as "list of string".
func (s schema) kind() string {
	switch {
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.kind()
	case s.Type == "":
		return "number or text"
	case s.Format != "" && s.Type == "string":
		return s.Format
	}
	return s.Type
}

// line returns a description in one line, with single spaces.
func line(description string) string {
	return strings.Join(strings.Fields(description), " ")
}

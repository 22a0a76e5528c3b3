package v1alpha1

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

// TestQuantitiesOfCRDs checks that the schemas in deploy/crds refuse each quantity that takes long
// to parse, such as a quantity with a huge exponent. The API server stores a quantity of a custom
// resource without parsing it, but every program that watches the resource parses it.
func TestQuantitiesOfCRDs(t *testing.T) {
	files, err := filepath.Glob("../../deploy/crds/" + Group + "_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no custom resources: %v", err)
	}
	found := 0
	for _, file := range files {
		plural := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), Group+"_"), ".yaml")
		for path, schema := range quantitiesOf(openAPI(t, plural), plural) {
			found++
			validator, _, err := validation.NewSchemaValidator(&schema)
			if err != nil {
				t.Fatal(err)
			}
			for value, admitted := range map[any]bool{
				"1": true, "1.5": true, ".5": true, "250m": true, "1Gi": true, "2Ei": true, "1E": true, "1e3": true, "1E+12": true, "1e-9": true, int64(4): true,
				"1e-1641327864": false, "1e100": false, "1E-100": false, "1e1.5": false, "1e": false, "": false, "Gi": false,
				strings.Repeat("9", 65): false, "." + strings.Repeat("9", 64): false,
			} {
				errs := validation.ValidateCustomResource(nil, value, validator)
				if (len(errs) == 0) != admitted {
					t.Errorf("%s: %v is admitted: %v, want %v", path, value, !admitted, admitted)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no quantities")
	}
}

// quantitiesOf finds the fields of a schema that are quantities, and returns a map from the path of
// each field to the schema of the field. All paths start with the given path.
func quantitiesOf(schema apiextensions.JSONSchemaProps, path string) map[string]apiextensions.JSONSchemaProps {
	if schema.XIntOrString {
		return map[string]apiextensions.JSONSchemaProps{path: schema}
	}
	all := map[string]apiextensions.JSONSchemaProps{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		maps.Copy(all, quantitiesOf(schema.Properties[name], path+"."+name))
	}
	if schema.Items != nil {
		maps.Copy(all, quantitiesOf(*schema.Items.Schema, path+"[]"))
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		maps.Copy(all, quantitiesOf(*schema.AdditionalProperties.Schema, path+"{}"))
	}
	return all
}

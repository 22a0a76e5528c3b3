package v1alpha1

import (
	"context"
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// served validates objects of a custom resource as an API server does. Only the checks of
// metadata, which are the same for all kinds, are left out.
type served struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// serve reads the definition of the custom resource with the given plural name from deploy/crds.
func serve(t *testing.T, plural string) served {
	t.Helper()
	props := openAPI(t, plural)
	s, err := served{}, error(nil)
	if s.structural, err = schema.NewStructural(&props); err != nil {
		t.Fatal(err)
	}
	if errs := schema.ValidateStructural(nil, s.structural); len(errs) > 0 {
		t.Fatalf("the schema of %s is not structural: %v", plural, errs.ToAggregate())
	}
	if s.schema, _, err = validation.NewSchemaValidator(&props); err != nil {
		t.Fatal(err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s
}

// openAPI returns the schema of the custom resource with the given plural name, from deploy/crds.
func openAPI(t *testing.T, plural string) (props apiextensions.JSONSchemaProps) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/crds/" + Group + "_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	return props
}

// admit removes unknown fields from an object, sets its defaults and returns the errors of its
// validation. If old is not nil, the object is validated as an update of old.
func (s served) admit(ctx context.Context, object, old map[string]any) field.ErrorList {
	pruning.Prune(object, s.structural, true)
	defaulting.Default(object, s.structural)
	if old == nil {
		return s.judge(ctx, object, nil, validation.ValidateCustomResource(nil, object, s.schema))
	}
	return s.judge(ctx, object, old, validation.ValidateCustomResourceUpdate(nil, object, old, s.schema))
}

// judge adds the errors that ValidateCustomResource does not find: duplicates in lists that are
// sets or maps, and violated CEL rules. As in the API server, the CEL rules are not checked if
// there are certain other errors, such as a missing field or a value of the wrong type.
func (s served) judge(ctx context.Context, object, old map[string]any, errs field.ErrorList) field.ErrorList {
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return errs
		}
	}
	var before any // a nil interface, which means that there is no old object
	if old != nil {
		before = old
	}
	broken, _ := s.rules.Validate(ctx, nil, s.structural, object, before, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}

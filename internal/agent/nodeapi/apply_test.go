package nodeapi

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
)

// newResources returns a fake client for NodeTopologies, which implements server-side apply as the
// API server does. It reads the schema of NodeTopologies from deploy/crds.
func newResources(t *testing.T) *dynamicfake.FakeDynamicClient {
	kind := v1alpha1.GroupVersion().WithKind("NodeTopology")
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(v1alpha1.GroupVersion().WithKind("NodeTopologyList"), &unstructured.UnstructuredList{})
	client := dynamicfake.NewSimpleDynamicClient(scheme)
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"NodeTopology": schemaOf(t, kind)}, false)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]*managedfields.FieldManager{} // by subresource, because server-side apply stores the owners of fields separately for each subresource
	for _, part := range []string{"", "status"} {
		fields[part], err = managedfields.NewDefaultCRDFieldManager(converter, untyped{}, untyped{}, untyped{}, kind, kind.GroupVersion(), part, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	client.PrependReactor("patch", "nodetopologies", applyBy(fields, client.Tracker()))
	return client
}

// schemaOf returns the schema of NodeTopology from the CustomResourceDefinition in deploy/crds.
func schemaOf(t *testing.T, kind schema.GroupVersionKind) *spec.Schema {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/crds/numalet.dev_nodetopologies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema *spec.Schema }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	s := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	s.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}})
	return s
}

// applyBy returns a function that merges applied fields into the stored object. If the object does
// not exist, applying its status is an error, and applying the object itself creates it, as in the
// API server.
func applyBy(fields map[string]*managedfields.FieldManager, tracker clienttesting.ObjectTracker) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchActionImpl)
		applied := &unstructured.Unstructured{}
		if err := applied.UnmarshalJSON(patch.Patch); err != nil {
			return true, nil, err
		}
		live, missing := tracker.Get(patch.Resource, "", patch.Name)
		if missing != nil && patch.Subresource != "" {
			return true, nil, missing
		}
		if missing != nil {
			live, _ = untyped{}.New(applied.GroupVersionKind())
		}
		merged, err := fields[patch.Subresource].Apply(live, applied, patch.PatchOptions.FieldManager, *patch.PatchOptions.Force)
		switch {
		case err != nil:
			return true, nil, err
		case missing != nil:
			return true, merged, tracker.Create(patch.Resource, merged, "")
		}
		return true, merged, tracker.Update(patch.Resource, merged, "")
	}
}

// untyped is a converter that neither converts objects nor sets defaults.
type untyped struct{}

func (untyped) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj, nil
}

func (untyped) Default(runtime.Object) {}

func (untyped) Convert(in, out, _ any) error {
	in.(*unstructured.Unstructured).DeepCopyInto(out.(*unstructured.Unstructured))
	return nil
}

func (untyped) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (untyped) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

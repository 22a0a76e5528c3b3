package groups

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestWrite checks that the function `write` replaces the whole status of a group: no fields that
// only the old status has may remain.
func TestWrite(t *testing.T) {
	quota := resource.MustParse("2")
	object := &v1alpha1.GPUGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "GPUGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: "g", UID: "uid-g", Generation: 2},
		Spec:       v1alpha1.GPUGroupSpec{Tenants: []string{"ann"}, Nodes: []v1alpha1.GPUGroupNode{{Name: "n1", GPUs: []string{"0"}}}},
	}
	object.Status = v1alpha1.GPUGroupStatus{
		Usage: []v1alpha1.TenantGPUs{{Tenant: "ann", GPUs: quota}},
		InForce: &v1alpha1.GPUGroupForm{Generation: 1, Spec: v1alpha1.GPUGroupSpec{
			Tenants: []string{"ann"}, Type: "T4", Quota: &quota, Nodes: []v1alpha1.GPUGroupNode{{Name: "n1", GPUs: []string{"0", "1"}}}}},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{v1alpha1.GPUGroupResource(): "GPUGroupList"}, &unstructured.Unstructured{Object: fields})
	want := v1alpha1.GPUGroupStatus{ObservedGeneration: 2, GPUs: 1, InForce: &v1alpha1.GPUGroupForm{Generation: 2, Spec: object.Spec}}
	if err := write(t.Context(), client, object, want); err != nil {
		t.Fatal(err)
	}
	got, err := client.Resource(v1alpha1.GPUGroupResource()).Get(t.Context(), "g", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	written := &v1alpha1.GPUGroup{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, written); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(want, written.Status) {
		t.Errorf("status (-want +got):\n%s", cmp.Diff(want, written.Status))
	}
	if !equality.Semantic.DeepEqual(object.Spec, written.Spec) || written.UID != "uid-g" {
		t.Errorf("the rest has changed: %+v", written)
	}
}

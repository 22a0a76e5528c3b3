package groups

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestEditChecksOneGroup checks that after an edit of one group, the registry checks only the
// permissions for this group. It checks the permissions for other groups again only at
// intervals, or when the GPUs of a node have changed.
func TestEditChecksOneGroup(t *testing.T) {
	asked := map[string]int{}
	r := NewRegistry(Dependencies{
		Allowed: func(_ context.Context, tenant, _, _ string) (bool, error) { asked[tenant]++; return true, nil },
		Report:  func(Verdict) {},
	})
	node := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1alpha1.NodeTopologyStatus{
		GPUs: []v1alpha1.GPU{{ID: "0", Form: "physical"}, {ID: "1", Index: 1, Form: "physical"}},
	}}
	set := func(name string, generation int64, gpus ...string) {
		r.SetGroup(&v1alpha1.GPUGroup{
			ObjectMeta: metav1.ObjectMeta{Name: name, Generation: generation},
			Spec:       v1alpha1.GPUGroupSpec{Tenants: []string{name}, Form: "physical", Nodes: []v1alpha1.GPUGroupNode{{Name: "n", GPUs: gpus}}},
		})
	}
	set("a", 1, "0")
	set("b", 1, "1")
	for _, step := range []struct {
		what string
		do   func()
		anew bool
		want map[string]int
	}{
		{"a node", func() { r.SetNode(node) }, false, map[string]int{"a": 1, "b": 1}},
		{"nothing", func() {}, false, map[string]int{}},
		{"an edit", func() { set("a", 2, "0", "1") }, false, map[string]int{"a": 2}},
		{"time", func() {}, true, map[string]int{"a": 2, "b": 1}},
		{"no such node", func() { r.RemoveNode(node) }, false, map[string]int{}},
		{"the node again", func() { r.SetNode(node) }, false, map[string]int{"a": 2, "b": 1}},
	} {
		clear(asked)
		step.do()
		r.checkGroups(t.Context(), step.anew)
		if diff := cmp.Diff(step.want, asked); diff != "" {
			t.Errorf("after %s, questions by tenant (-want +got):\n%s", step.what, diff)
		}
	}
}

package groups

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
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

// TestNodeReturns checks that no other tenant gets a GPU of a group after the node of the group has
// disappeared and has come back. The scheduler may know the GPUs of the node before the registry has
// checked the groups again. This check must be a change, so that pods that match no group are tried
// again.
func TestNodeReturns(t *testing.T) {
	r := NewRegistry(Dependencies{
		Allowed: func(context.Context, string, string, string) (bool, error) { return true, nil },
		Report:  func(Verdict) {},
	})
	changes := 0
	r.OnChange(func([]group.Group) { changes++ })
	r.SetGroup(&v1alpha1.GPUGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "g", Generation: 1},
		Spec:       v1alpha1.GPUGroupSpec{Tenants: []string{"ann"}, Form: "physical", Nodes: []v1alpha1.GPUGroupNode{{Name: "n", GPUs: []string{"0"}}}},
	})
	node := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1alpha1.NodeTopologyStatus{
		GPUs: []v1alpha1.GPU{{ID: "a", Form: "physical"}, {ID: "b", Index: 1, Form: "physical"}},
	}}
	record := &sched.Node{Name: "n", GPUs: []sched.GPU{{ID: "a", Free: sched.WholeGPU}, {ID: "b", Free: sched.WholeGPU}}}
	b := []sched.GPUShare{{ID: "b", Milli: sched.WholeGPU}}
	check := func() { r.checkGroups(t.Context(), false) }
	for _, step := range []struct {
		what    string
		do      func()
		changes int
		want    []sched.GPUShare // the GPUs that bob may get
	}{
		{"the node has joined", func() { r.SetNode(node); check() }, 1, b},
		{"the node is gone", func() { r.RemoveNode(node); check() }, 1, nil},
		{"the node is back", func() { r.SetNode(node) }, 0, nil},
		{"the groups are checked", check, 1, b},
	} {
		changes = 0
		step.do()
		match, err := r.Match(group.Request{Tenant: "bob", Form: gpu.Physical, GPURequest: sched.GPURequest{Count: 1, Milli: sched.WholeGPU}})
		if err != nil {
			t.Fatal(err)
		}
		offer, _ := match.On(record)
		if diff := cmp.Diff(step.want, offer.GPUs); diff != "" || changes != step.changes {
			t.Errorf("%s: %d changes, want %d; offered to bob (-want +got):\n%s", step.what, changes, step.changes, diff)
		}
	}
}

package group

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// TestUnknownGPUs checks which GPUs a tenant without groups may get on a node of which the Grouping
// does not know all GPUs. A group of another tenant lists the node n1.
func TestUnknownGPUs(t *testing.T) {
	for name, tc := range map[string]struct {
		node  string
		known []string // the GPUs of the node that the Grouping knows; nil if it knows none, and no inventory
		ids   []string // the GPUs in the record of the node
		want  []string
	}{
		"all are known":                               {node: "n1", known: []string{"a", "b"}, ids: []string{"a", "b"}, want: []string{"b"}},
		"the node of a group has come back":           {node: "n1", ids: []string{"a", "b"}},
		"the node of a group has a new GPU":           {node: "n1", known: []string{"a", "b"}, ids: []string{"a", "b", "c"}, want: []string{"b"}},
		"the GPUs of the node of a group have no IDs": {node: "n1", ids: []string{"", ""}},
		"the node of no group is new":                 {node: "n2", ids: []string{"d"}, want: []string{"d"}},
		"the GPUs of the node of no group have no ID": {node: "n2", ids: []string{""}, want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, record := Nodes{}, &sched.Node{Name: tc.node}
			if tc.known != nil {
				nodes[tc.node] = &gpu.Inventory{}
			}
			for i, id := range tc.known {
				nodes[tc.node].GPUs = append(nodes[tc.node].GPUs, gpu.GPU{UUID: id, Index: i})
			}
			for _, id := range tc.ids {
				record.GPUs = append(record.GPUs, sched.GPU{ID: id, Free: sched.WholeGPU})
			}
			grouping := New([]Group{{Name: "g", Tenants: []string{"ann"}, Form: gpu.Physical, Bindings: []Binding{{"n1", []string{"a"}}}}}, nodes)
			match, err := grouping.Match(Request{Tenant: "bob", GPURequest: sched.GPURequest{Count: 1, Milli: sched.WholeGPU}})
			if err != nil {
				t.Fatal(err)
			}
			offer, _ := match.On(record)
			var got []string
			for _, g := range offer.GPUs {
				got = append(got, g.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("offered to bob (-want +got):\n%s", diff)
			}
		})
	}
}

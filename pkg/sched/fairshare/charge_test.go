package fairshare

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

func TestCharges(t *testing.T) {
	shared := map[string]sched.GPUPart{"nvidia.com/gpu.shared": {Type: "T4-SHARED", Milli: 250}}
	node := &sched.Node{Parts: shared, GPUs: []sched.GPU{{ID: "0", Type: "T4"}, {ID: "1", Type: "T4"}, {ID: "2", Type: "H200"}}}
	cores := sched.Amounts{CPU: 3500}
	for name, tc := range map[string]struct {
		holds sched.Holding
		want  []Charge
	}{
		"cores":         {sched.Holding{Amounts: cores}, []Charge{{CPU, 3500}}},
		"nothing":       {sched.Holding{}, nil},
		"GPUs, no CPU":  {sched.Holding{Amounts: cores, GPUs: []sched.GPUShare{{ID: "0", Milli: 1000}, {ID: "1", Milli: 1000}}}, []Charge{{"T4", 2000}}},
		"a share":       {sched.Holding{GPUs: []sched.GPUShare{{ID: "1", Milli: 250}}}, []Charge{{"T4", 250}}},
		"parts, no CPU": {sched.Holding{Amounts: sched.Amounts{CPU: 1, Extended: sched.ExtendedOf(map[string]int64{"nvidia.com/gpu.shared": 3})}}, []Charge{{"T4-SHARED", 750}}},
		"a GPU and parts": {sched.Holding{Amounts: sched.Amounts{CPU: 1, Extended: sched.ExtendedOf(map[string]int64{"nvidia.com/gpu.shared": 3})}, GPUs: []sched.GPUShare{{ID: "0", Milli: 1000}}},
			[]Charge{{"T4", 1000}, {"T4-SHARED", 750}}},
		"two models":    {sched.Holding{GPUs: []sched.GPUShare{{ID: "1", Milli: 500}, {ID: "2", Milli: 1000}}}, []Charge{{"H200", 1000}, {"T4", 500}}},
		"a GPU unknown": {sched.Holding{GPUs: []sched.GPUShare{{ID: "7", Milli: 1000}}}, []Charge{{AnyGPU, 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Charges(tc.holds, node)); diff != "" {
				t.Errorf("charges (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChargeUnnamed(t *testing.T) {
	for name, tc := range map[string]struct {
		node *sched.Node
		want Type
	}{
		"of the node's model": {&sched.Node{GPUs: []sched.GPU{{Type: "T4"}, {Type: "T4"}}}, "T4"},
		"of an unknown model": {&sched.Node{GPUs: []sched.GPU{{}}}, AnyGPU},
		"no GPU is known":     {&sched.Node{}, AnyGPU},
		"no node is known":    {nil, AnyGPU},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]Charge{{tc.want, 2000}}, ChargeUnnamed(2, sched.Holding{}, tc.node)); diff != "" {
				t.Errorf("charges (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountsParts(t *testing.T) {
	for _, tc := range []struct {
		waits, used Type
		want        bool
	}{
		{"SHARED", "Tesla-T4-SHARED", true}, {"SHARED", "Tesla-T4", false}, {"MIG-1g.10gb", "H100-MIG-1g.10gb", true},
		{"MIG-1g.10gb", "H100-MIG-1g.20gb", false}, {"Tesla-T4", "Tesla-T4-SHARED", false}, {AnyGPU, "Tesla-T4-SHARED", true},
	} {
		if got := tc.waits.Counts(tc.used); got != tc.want {
			t.Errorf("who waits for %s: %s counts %v, want %v", tc.waits, tc.used, got, tc.want)
		}
	}
}

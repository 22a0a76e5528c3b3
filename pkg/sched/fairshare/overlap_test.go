package fairshare

import "testing"

func TestOverlaps(t *testing.T) {
	for _, tc := range []struct {
		a, b Type
		want bool
	}{
		{"T4", "T4", true},
		{"T4", "V100", false},
		{"T4", "T4|V100", true},
		{"H200", "T4|V100", false},
		{"A100|T4", "T4|V100", true},
		{AnyGPU, "T4", true},
		{AnyGPU, "T4|V100", true},
		{AnyGPU, CPU, false},
		{CPU, "T4", false},
		{CPU, CPU, true},
		{AnyGPU, "A100-MIG-1g.10gb", false},
		{AnyGPU, "SHARED", false},
		{"MIG-1g.10gb", "A100-MIG-1g.10gb", true},
		{"MIG-1g.10gb", "A100-MIG-1g.10gb|H100-MIG-1g.10gb", true},
		{"SHARED", "T4-SHARED", true},
		{"SHARED", "T4", false},
	} {
		if tc.a.Overlaps(tc.b) != tc.want || tc.b.Overlaps(tc.a) != tc.want {
			t.Errorf("%s overlaps %s: %v, and the other way round %v; want %v", tc.a, tc.b, tc.a.Overlaps(tc.b), tc.b.Overlaps(tc.a), tc.want)
		}
	}
}

func TestAnd(t *testing.T) {
	for _, tc := range []struct{ a, b, want Type }{
		{CPU, CPU, CPU},
		{CPU, "T4", "T4"},
		{"V100", "T4", "T4|V100"},
		{"T4|V100", "H200|T4", "H200|T4|V100"},
		{AnyGPU, "T4", AnyGPU},
		{CPU, AnyGPU, AnyGPU},
		{AnyGPU, "SHARED", "SHARED|gpu"},
	} {
		if a, b := tc.a.And(tc.b), tc.b.And(tc.a); a != tc.want || b != tc.want {
			t.Errorf("%s and %s: %s, and the other way round %s; want %s", tc.a, tc.b, a, b, tc.want)
		}
	}
}

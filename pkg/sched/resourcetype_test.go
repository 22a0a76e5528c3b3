package sched

import "testing"

func TestResourceType(t *testing.T) {
	for name, tc := range map[string]struct {
		request GPURequest
		want    string
	}{
		"no GPU":        {GPURequest{}, "cpu"},
		"any GPU":       {GPURequest{Count: 1}, "gpu"},
		"one model":     {GPURequest{Count: 1, Types: []string{"T4"}}, "T4"},
		"two models":    {GPURequest{Count: 1, Types: []string{"T4", "H200", "T4"}}, "H200|T4"},
		"shares":        {GPURequest{Part: GPUPartRequest{Kind: "SHARED", Count: 2}}, "SHARED"},
		"slices":        {GPURequest{Part: GPUPartRequest{Kind: "MIG-1g.10gb", Count: 1}, Types: []string{"H100", "A100"}}, "A100-MIG-1g.10gb|H100-MIG-1g.10gb"},
		"named in vain": {GPURequest{Types: []string{"T4"}}, "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Pod{GPUs: tc.request}).ResourceType(); got != tc.want {
				t.Errorf("ResourceType = %s, want %s", got, tc.want)
			}
		})
	}
}

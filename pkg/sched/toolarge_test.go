package sched

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTooLarge(t *testing.T) {
	nodes := []*Node{
		{Allocatable: Amounts{CPU: 16000, Memory: 8 << 30}, GPUs: make([]GPU, 4)},
		{Allocatable: Amounts{CPU: 4000, Memory: 64 << 30}},
	}
	for name, tc := range map[string]struct {
		pod   Pod
		nodes []*Node
		want  string
	}{
		"fits":     {Pod{Requests: Amounts{CPU: 16000, Memory: 64 << 30}, GPUs: GPURequest{Count: 4}}, nodes, ""},
		"CPUs":     {Pod{Requests: Amounts{CPU: 16500}}, nodes, "larger than any node: 16.5 CPUs (largest 16)"},
		"memory":   {Pod{Requests: Amounts{Memory: 65 << 30}}, nodes, "larger than any node: 65 GiB of memory (largest 64)"},
		"GPUs":     {Pod{GPUs: GPURequest{Count: 8}}, nodes, "larger than any node: 8 GPUs (largest 4)"},
		"no nodes": {Pod{Requests: Amounts{CPU: 1}}, nil, ""},
	} {
		if diff := cmp.Diff(tc.want, TooLarge(&tc.pod, slices.Values(tc.nodes))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

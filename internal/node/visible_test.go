package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/workload"
)

func TestVisibleGPUs(t *testing.T) {
	const gpu, mig, shared = "allocated.numalet.dev/gpu", "allocated.numalet.dev/mig-1g.10gb", "allocated.numalet.dev/gpu.shared"
	for name, tc := range map[string]struct {
		given map[string]string
		env   []string
		want  string
	}{
		"as the device plugin said":   {map[string]string{gpu: "a,b"}, []string{"NVIDIA_VISIBLE_DEVICES=b,a"}, ""},
		"of two resources":            {map[string]string{gpu: "b", mig: "MIG-1"}, []string{"A=1", "NVIDIA_VISIBLE_DEVICES=MIG-1"}, "MIG-1,b"},
		"as the author said":          {map[string]string{gpu: "b"}, []string{"NVIDIA_VISIBLE_DEVICES=b", "NVIDIA_VISIBLE_DEVICES=all"}, "b"},
		"shares of cards":             {map[string]string{shared: "a::0,a::3"}, []string{"NVIDIA_VISIBLE_DEVICES=a"}, ""},
		"by CDI":                      {map[string]string{gpu: "b"}, []string{"A=1"}, ""},
		"by CDI, as NVIDIA's library": {map[string]string{gpu: "b"}, []string{"NVIDIA_VISIBLE_DEVICES=void"}, ""},
		"CPUs only, GPUs by nobody":   {map[string]string{"allocated.numalet.dev/numa0-cpu": "numa0-cpu-1"}, []string{"NVIDIA_VISIBLE_DEVICES=all"}, ""},
		"nothing, a variable of none": {nil, []string{"NVIDIA_VISIBLE_DEVICES=void"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := visibleGPUs(workload.Container{Annotations: tc.given, Env: tc.env})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("visible (-want +got):\n%s", diff)
			}
		})
	}
}

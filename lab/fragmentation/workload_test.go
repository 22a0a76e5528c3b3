package fragmentation_test

import (
	"testing"

	"github.com/numalet/numalet/lab/fragmentation"
	"github.com/numalet/numalet/pkg/sched"
)

// TestFragmented measures nodes with different free CPUs and GPUs. The workload has one pod each
// with half a GPU, a whole GPU, two GPUs, and no GPU.
func TestFragmented(t *testing.T) {
	workload := fragmentation.Of([]*sched.Pod{gpuPod(1, 500), gpuPod(1, 1000), gpuPod(2, 1000), gpuPod(0, 0)})
	for name, tc := range map[string]struct {
		cpu  sched.MilliCPU
		free []sched.MilliGPU
		want float64
	}{
		"nothing free":   {8000, []sched.MilliGPU{0, 0}, 0},
		"no GPU":         {8000, nil, 0},
		"all free":       {8000, []sched.MilliGPU{1000, 1000}, 500}, // a quarter of the pods request no GPU, so a quarter of the free capacity counts as unusable
		"one and a bit":  {8000, []sched.MilliGPU{300, 1000}, 300*0.5 + 1300*0.5},
		"CPUs are gone":  {0, []sched.MilliGPU{300, 1000}, 1300},
		"a bit and half": {8000, []sched.MilliGPU{300, 500}, 300*0.25 + 800*0.75},
	} {
		t.Run(name, func(t *testing.T) {
			node := &sched.Node{Free: sched.Amounts{CPU: tc.cpu, Pods: 9}}
			for _, free := range tc.free {
				node.GPUs = append(node.GPUs, sched.GPU{Free: free})
			}
			if got := workload.Fragmented(node); got != tc.want {
				t.Errorf("fragmented %v, want %v", got, tc.want)
			}
		})
	}
}

func gpuPod(count int, milli sched.MilliGPU) *sched.Pod {
	return &sched.Pod{Requests: sched.Amounts{CPU: 1000, Pods: 1}, GPUs: sched.GPURequest{Count: count, Milli: milli}}
}

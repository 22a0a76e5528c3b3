package commands

import (
	"fmt"
	"io"
	"time"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/fragmentation"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// simulated is the output of "numalet simulate -o json".
type simulated struct {
	Policy               string  `json:"policy"`
	Seed                 uint64  `json:"seed"`
	Nodes                int     `json:"nodes"`
	Pods                 int     `json:"pods"`
	Placed               int     `json:"placed"`
	GPUs                 int     `json:"gpus"`
	GPUAllocatedPercent  float64 `json:"gpuAllocatedPercent"`
	GPUFragmentedPercent float64 `json:"gpuFragmentedPercent"` // free capacity that the pods of the trace cannot use (see lab/fragmentation), in percent of the capacity of all GPUs
	CPUAllocatedPercent  float64 `json:"cpuAllocatedPercent"`
	DecideSeconds        float64 `json:"decideSeconds"` // the time for all decisions, without reading files
	DecisionsPerSecond   float64 `json:"decisionsPerSecond"`
}

// report summarizes a simulation. The parameter `placed` is the number of placed pods, and `took`
// is the time that all decisions took.
func report(s simulation, state *nodestate.State, pods []*sched.Pod, placed int, took time.Duration) simulated {
	sum := simulated{
		Policy: canonical(s.policy), Seed: s.seed, Nodes: state.View().Len(), Pods: len(pods), Placed: placed,
		DecideSeconds: took.Seconds(), DecisionsPerSecond: float64(len(pods)) / took.Seconds(),
	}
	workload := fragmentation.Of(pods)
	var gpus, freeGPUs, fragments, cpu, freeCPU float64
	for n := range state.View().Nodes() {
		sum.GPUs += len(n.GPUs)
		for _, gpu := range n.GPUs {
			freeGPUs += float64(gpu.Free)
		}
		fragments += workload.Fragmented(n)
		cpu += float64(n.Allocatable.CPU)
		freeCPU += float64(n.Free.CPU)
	}
	gpus = float64(sum.GPUs) * float64(sched.WholeGPU)
	sum.GPUAllocatedPercent = percent(gpus-freeGPUs, gpus)
	sum.GPUFragmentedPercent = percent(fragments, gpus)
	sum.CPUAllocatedPercent = percent(cpu-freeCPU, cpu)
	return sum
}

// percent returns `part` as a percentage of `whole`, or 0 if `whole` is 0.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

func (s simulated) write(out io.Writer, f command.Format) error {
	if f == command.JSON {
		return command.WriteJSON(out, s)
	}
	_, err := fmt.Fprintf(out, `%s: %d of %d pods placed on %d nodes
GPUs  %d, %.1f %% allocated, %.1f %% free in fragments
CPUs  %.1f %% allocated
took  %.3f s (%.0f decisions/s)
`, s.Policy, s.Placed, s.Pods, s.Nodes, s.GPUs, s.GPUAllocatedPercent, s.GPUFragmentedPercent,
		s.CPUAllocatedPercent, s.DecideSeconds, s.DecisionsPerSecond)
	return err
}

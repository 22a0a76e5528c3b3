// Package schedtest creates random nodes and pods, and a simple queue, for tests of the scheduler.
package schedtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// Node returns a small random node, with up to 3 NUMA nodes and up to 4 GPUs of two types. A part
// of its resources is not free, as if pods used it. Some of the nodes allocate only whole cores.
// Some never allocate their last free CPU. Some have resources reserved for a pod, whose UID is
// "someone".
func Node(r *rand.Rand, name string) *sched.Node {
	node := &sched.Node{Name: name, Version: 1, CoreWidth: 1 + r.IntN(2), Spare: r.IntN(2)}
	node.Allocatable = sched.Amounts{CPU: 16000, Memory: 64, Pods: 8, Extended: sched.ExtendedOf(map[string]int64{"example.com/nic": 2})}
	node.Free = sched.Amounts{
		CPU: sched.MilliCPU(r.IntN(17) * 1000), Memory: sched.Bytes(r.IntN(65)), Pods: r.IntN(9),
		Extended: sched.ExtendedOf(map[string]int64{"example.com/nic": int64(r.IntN(3))}),
	}
	for id := range r.IntN(4) {
		free := r.IntN(7) / node.CoreWidth * node.CoreWidth
		node.NUMA = append(node.NUMA, sched.NUMANode{ID: topology.NodeID(id * 8), CPUs: 6, FreeCPUs: free, Memory: 32, FreeMemory: sched.Bytes(r.IntN(33))})
	}
	for i := range r.IntN(5) {
		gpu := sched.GPU{ID: fmt.Sprint(i), Type: [...]string{"T4", "H200"}[i/2], Free: sched.WholeGPU}
		if r.IntN(2) == 0 {
			gpu.Free = sched.MilliGPU(r.IntN(11) * 100)
		}
		node.GPUs = append(node.GPUs, gpu)
	}
	if r.IntN(4) == 0 {
		h := sched.Holding{Amounts: sched.Amounts{CPU: 2000, Pods: 1}}
		if len(node.NUMA) > 0 {
			h.NUMA = []sched.NUMAShare{{ID: 0, CPUs: 2}}
		}
		node = node.Reserve(&sched.Reservation{UID: "someone", Holding: h})
	}
	return node
}

// Ample returns a node with so many resources that dozens of pods fit on it.
func Ample(_ *rand.Rand, name string) *sched.Node {
	node := &sched.Node{Name: name, Version: 1}
	node.Allocatable = sched.Amounts{CPU: 1e6, Memory: 1e6, Pods: 500, Extended: sched.ExtendedOf(map[string]int64{"example.com/nic": 100})}
	node.Free = node.Allocatable
	for id := range 3 {
		node.NUMA = append(node.NUMA, sched.NUMANode{ID: topology.NodeID(id * 8), CPUs: 500, FreeCPUs: 500, Memory: 1e6, FreeMemory: 1e6})
	}
	for i := range 80 {
		node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(i), Type: "H200", Free: sched.WholeGPU})
	}
	return node
}

// Pod returns a random pod. Up to 3 containers of the pod have exclusive CPUs. They are app
// containers, init containers or sidecars. The pod either has a CPU policy, by which its CPUs are
// distributed over NUMA nodes, or it names the NUMA nodes of its CPUs itself. It requests whole
// GPUs, shares of GPUs, or no GPUs.
func Pod(r *rand.Rand, name string) *sched.Pod {
	pod := &sched.Pod{UID: name, Name: name, Seed: r.Uint64()}
	pod.Requests = sched.Amounts{CPU: sched.MilliCPU(r.IntN(6) * 500), Memory: sched.Bytes(r.IntN(9)), Pods: 1}
	if r.IntN(8) == 0 {
		pod.Requests.Extended = sched.ExtendedOf(map[string]int64{"example.com/nic": 1})
	}
	pod.CPUPolicy = []podspec.Policy{podspec.Random, podspec.Spread, podspec.Single}[r.IntN(3)]
	explicit := r.IntN(5) == 0
	if explicit {
		pod.CPUPolicy = podspec.Random
	}
	for i := range r.IntN(4) {
		pod.Exclusive = append(pod.Exclusive, want(r, i, explicit))
	}
	switch r.IntN(4) {
	case 0:
		pod.GPUs = sched.GPURequest{Count: 1 + r.IntN(2), Milli: sched.WholeGPU}
	case 1:
		pod.GPUs = sched.GPURequest{Count: 1, Milli: sched.MilliGPU(1+r.IntN(9)) * 100}
	}
	if pod.GPUs.Count > 0 && r.IntN(2) == 0 {
		pod.GPUs.Types = []string{"H200"}
	}
	if r.IntN(10) == 0 {
		pod.UID = "someone"
	}
	return pod
}

func want(r *rand.Rand, i int, explicit bool) podspec.Container {
	w := podspec.Container{
		Name: string(rune('a' + i)), Kind: []podspec.Kind{podspec.App, podspec.Init, podspec.Sidecar}[r.IntN(3)],
		CPUs: 1 + r.IntN(5),
	}
	if r.IntN(4) == 0 {
		w.MemoryBytes = uint64(1 + r.IntN(16))
	}
	if explicit {
		first := r.IntN(w.CPUs + 1)
		w.PerNode = map[topology.NodeID]int{0: first, 8: w.CPUs - first}
	}
	return w
}

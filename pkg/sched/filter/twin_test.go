package filter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

const cases = 20000

// TestTwin compares the results of Place, for random nodes and pods, with those of a search
// that tries every way to place the containers.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	fits := 0
	for i := range cases {
		pod, node := schedtest.Pod(r, "p"), schedtest.Node(r, "n")
		at, reason := Place(pod, node)
		if want := naive(pod, node.For(pod.UID)); want == reason.Refuses() {
			t.Fatalf("case %d: fits = %v (%s), want %v\npod %+v\nnode %+v", i, !reason.Refuses(), reason, want, pod, node)
		}
		if got := Check(pod, node); got != reason {
			t.Fatalf("case %d: Check says %q, Place %q", i, got, reason)
		}
		if reason.Refuses() {
			continue
		}
		fits++
		if why := broken(pod, node.For(pod.UID), at); why != "" {
			t.Fatalf("case %d: %s\npod %+v\nnode %+v\nplacement %+v", i, why, pod, node, at)
		}
	}
	if fits < cases/20 || fits > cases/2 {
		t.Errorf("%d of %d cases fit: they prove little", fits, cases)
	}
}

// naive reports whether a pod fits a node. It tries every way to place the containers.
func naive(pod *sched.Pod, node *sched.Node) bool {
	request, free := pod.Requests, node.Free
	if request.CPU > max(0, free.CPU) || request.Memory > free.Memory || request.Pods > free.Pods {
		return false
	}
	if request.Extended.Of("example.com/nic") > free.Extended.Of("example.com/nic") {
		return false
	}
	able := 0
	for _, gpu := range node.GPUs {
		if gpu.Free >= pod.GPUs.Milli && (pod.GPUs.Types == nil || slices.Contains(pod.GPUs.Types, gpu.Type)) {
			able++
		}
	}
	return able >= pod.GPUs.Count && seatable(pod, node, nil)
}

// seatable reports whether the exclusive CPUs of a pod fit a node. The parameter `given` says how
// many CPUs each of the pod's first containers has on each NUMA node. For each of the other
// containers, the function tries every distribution of its CPUs over the NUMA nodes.
func seatable(pod *sched.Pod, node *sched.Node, given []numaplan.Counts) bool {
	c := len(given)
	if c == len(pod.Exclusive) {
		return overfull(pod, node, given) == ""
	}
	for _, way := range ways(pod.Exclusive[c].CPUs, len(node.NUMA)) {
		if obeys(pod, c, node, way) && seatable(pod, node, append(slices.Clone(given), way)) {
			return true
		}
	}
	return false
}

// ways returns every way to distribute k CPUs over n NUMA nodes.
func ways(k, n int) []numaplan.Counts {
	if n == 0 {
		return nil
	}
	if n == 1 {
		return []numaplan.Counts{{k}}
	}
	var all []numaplan.Counts
	for first := range k + 1 {
		for _, rest := range ways(k-first, n-1) {
			all = append(all, append(numaplan.Counts{first}, rest...))
		}
	}
	return all
}

// obeys reports whether n, the number of a container's CPUs on each NUMA node, satisfies the
// request of the container pod.Exclusive[c] and the pod's CPU policy.
func obeys(pod *sched.Pod, c int, node *sched.Node, n numaplan.Counts) bool {
	want := pod.Exclusive[c]
	for i, k := range n {
		if want.PerNode != nil && want.PerNode[node.NUMA[i].ID] != k {
			return false
		}
	}
	switch {
	case want.PerNode != nil:
		return true
	case pod.CPUPolicy == podspec.Single:
		return slices.Max(n) == want.CPUs
	case pod.CPUPolicy == podspec.Spread:
		return slices.Max(n)-slices.Min(n) <= 1
	}
	return true
}

// overfull returns a text that says what is missing: a NUMA node has too few free CPUs or too
// little free memory at some time in the pod's life, or too few CPUs would be left for
// containers without exclusive CPUs. It returns "" if nothing is missing.
func overfull(pod *sched.Pod, node *sched.Node, given []numaplan.Counts) string {
	if len(pod.Exclusive) == 0 {
		return ""
	}
	spare, life := 0, moments(pod)
	for i, on := range node.NUMA {
		cpus, memory := 0, sched.Bytes(0)
		for _, moment := range life {
			nowCPUs, nowMemory := 0, sched.Bytes(0)
			for _, c := range moment {
				nowCPUs += given[c][i]
				if given[c][i] > 0 && pod.CPUPolicy == podspec.Single {
					nowMemory += sched.Bytes(pod.Exclusive[c].MemoryBytes)
				}
			}
			cpus, memory = max(cpus, nowCPUs), max(memory, nowMemory)
		}
		for cpus%node.CoreWidth != 0 {
			cpus++
		}
		if cpus > max(0, on.FreeCPUs) || memory > on.FreeMemory {
			return fmt.Sprintf("NUMA node %d has %d CPUs and %d of memory, not %d and %d", on.ID, on.FreeCPUs, on.FreeMemory, cpus, memory)
		}
		spare += max(0, on.FreeCPUs-cpus)
	}
	if spare < node.Spare {
		return fmt.Sprintf("%d CPUs stay shared, not %d", spare, node.Spare)
	}
	return ""
}

// moments returns one set of containers (indexes in pod.Exclusive) for each time in the pod's
// life: the containers that run at this time.
func moments(pod *sched.Pod) [][]int {
	var all [][]int
	var sidecars, apps []int
	for c, want := range pod.Exclusive {
		switch want.Kind {
		case podspec.Init:
			all = append(all, append(slices.Clone(sidecars), c))
		case podspec.Sidecar:
			sidecars = append(sidecars, c)
		case podspec.App:
			apps = append(apps, c)
		}
	}
	return append(all, append(sidecars, apps...))
}

// broken returns a text that says what is wrong with a placement, or "" if nothing is wrong.
func broken(pod *sched.Pod, node *sched.Node, at sched.Placement) string {
	given := make([]numaplan.Counts, len(at.Containers))
	for c, container := range at.Containers {
		given[c] = make(numaplan.Counts, len(node.NUMA))
		total := 0
		for i, on := range node.NUMA {
			given[c][i] = container.PerNode[on.ID]
			total += given[c][i]
		}
		if total != pod.Exclusive[c].CPUs || container.Name != pod.Exclusive[c].Name || !obeys(pod, c, node, given[c]) {
			return fmt.Sprintf("container %s: %v", container.Name, container.PerNode)
		}
	}
	if len(given) != len(pod.Exclusive) {
		return "a container is missing"
	}
	left := node.Take(sched.Hold(pod, at))
	for _, gpu := range left.GPUs {
		if gpu.Free < 0 && slices.ContainsFunc(at.GPUs, func(s sched.GPUShare) bool { return s.ID == gpu.ID }) {
			return "gpu " + gpu.ID + " is given twice"
		}
	}
	if len(at.GPUs) != pod.GPUs.Count {
		return "GPUs are missing"
	}
	return overfull(pod, node, given)
}

// TestLaw checks what the type Dimension guarantees: if a pod fits a node, the coordinate of
// the node is at least as large as that of the pod in every dimension.
func TestLaw(t *testing.T) {
	space, err := ParseSpace("cpu,memory,pods,numa-total,numa-single,numa-spread,gpus,gpu-share,gpu-total,gpus:H200,gpu-share:H200,gpu-total:H200,example.com/nic")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range cases {
		pod, node := schedtest.Pod(r, "p"), schedtest.Node(r, "n")
		if Check(pod, node).Refuses() {
			continue
		}
		have, want := space.Node(node.For(pod.UID)), space.Pod(pod)
		for i, d := range space {
			if have[i] < want[i] {
				t.Fatalf("%s: the pod fits, but the node's coordinate %d is below %d\npod %+v\nnode %+v", d.Name, have[i], want[i], pod, node)
			}
		}
	}
}

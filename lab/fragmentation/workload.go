// Package fragmentation measures how much free GPU capacity the pods of a workload cannot use. The
// reports of simulations contain this measure. The controller's policy fragmentation uses a
// different measure (pkg/sched/fragmentation).
//
// The measure is that of FGD (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023):
//
//	F(n) = Σ p(m) · f(n, m)
//
// F(n) is the measure for the node n. The sum is over the kinds m of pods, and p(m) is the share of
// the kind m among all pods. f(n, m) is the free capacity of those GPUs of n that pods of the kind m
// cannot use. These are all GPUs of n if m does not fit n or requests no GPU.
package fragmentation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Workload is a list of the kinds of pods, sorted by descending share. It is immutable.
type Workload []Kind

// Kind is the set of all pods with the same requests.
type Kind struct {
	Pod   *sched.Pod
	Share float64 // share of this kind among all pods
}

// Of returns the kinds of the given pods, with the share of each kind among these pods. Pods are
// of the same kind if their CPU, memory and GPU requests are equal.
func Of(pods []*sched.Pod) Workload {
	counts, first := map[kindKey]int{}, map[kindKey]*sched.Pod{}
	for _, pod := range pods {
		k := key(pod)
		counts[k]++
		if first[k] == nil {
			first[k] = pod
		}
	}
	var w Workload
	for key, n := range counts {
		w = append(w, Kind{first[key], float64(n) / float64(len(pods))})
	}
	slices.SortFunc(w, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Pod.UID, b.Pod.UID))
	})
	return w
}

// kindKey identifies a kind of pods by its requests.
type kindKey struct {
	cpu    sched.MilliCPU
	memory sched.Bytes
	count  int
	milli  sched.MilliGPU
	types  string
}

func key(pod *sched.Pod) kindKey {
	return kindKey{pod.Requests.CPU, pod.Requests.Memory, pod.GPUs.Count, pod.GPUs.Milli, strings.Join(pod.GPUs.Types, "|")}
}

// Fragmented returns the free GPU capacity of a node that the workload cannot use, in thousandths
// of a GPU. This is F(n) in the comment of the package. The time that Fragmented takes is
// proportional to the number of the node's GPUs times the number of kinds.
func (w Workload) Fragmented(node *sched.Node) float64 {
	free := freeOf(node)
	if free == 0 {
		return 0
	}
	sum := 0.0
	for _, kind := range w {
		sum += kind.Share * float64(useless(node, kind.Pod, free))
	}
	return sum
}

// freeOf returns the free capacity of a node's GPUs.
func freeOf(node *sched.Node) (sum sched.MilliGPU) {
	for _, gpu := range node.GPUs {
		sum += max(0, gpu.Free)
	}
	return sum
}

// useless returns how much of a node's free GPU capacity one pod cannot use. This is f(n, m) in the
// comment of the package. The parameter `free` is the free capacity of all GPUs of the node.
func useless(node *sched.Node, pod *sched.Pod, free sched.MilliGPU) sched.MilliGPU {
	if pod.GPUs.Count == 0 || filter.Check(pod, node).Refuses() {
		return free
	}
	small := sched.MilliGPU(0)
	for _, gpu := range node.GPUs {
		if !usable(pod.GPUs, gpu) {
			small += max(0, gpu.Free)
		}
	}
	return small
}

// usable reports whether a GPU has enough free capacity for a request, and is of a type that the
// request allows.
func usable(request sched.GPURequest, gpu sched.GPU) bool {
	return gpu.Free >= request.Milli && (request.Types == nil || slices.Contains(request.Types, gpu.Type))
}

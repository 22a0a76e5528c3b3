package filter

import (
	"fmt"
	"strings"
	"unique"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// Dimension computes coordinates for one dimension of the index of nodes (package distbucket). It
// computes the coordinate of a node from the node's free resources, and the coordinate of a pod
// from the pod's requests. If a pod fits a node, the node's coordinate is at least that of the pod:
//
//	Check(pod, node) refuses nothing  ⇒  Node(node.For(pod.Claim())) ≥ Pod(pod)
//
// Here node.For(pod.Claim()) is the node's record in which resources that are reserved for other
// pods do not count as free. So the index may skip every node whose coordinate is smaller than that
// of the pod. A node with a sufficient coordinate does not always fit the pod, so it has to be
// checked.
type Dimension struct {
	Name    string // in the syntax of ParseDimension
	Node    func(*sched.Node) int64
	Pod     func(*sched.Pod) int64
	amounts bool // whether the coordinates depend only on sched.Amounts, and not on NUMA nodes or single GPUs
}

// Space has the dimensions of an index of nodes, in the order in which the administrator configured
// them.
type Space []Dimension

// Node returns the node's coordinate in each dimension, before the index divides it by the
// granularity of the dimension (Profile.Theta). Resources that are reserved for waiting pods count
// as free. The coordinates are never negative.
func (s Space) Node(node *sched.Node) []int64 { return s.AppendNode(make([]int64, 0, len(s)), node) }

// AppendNode appends the node's coordinates, as Node returns them, to the given slice, and returns
// the extended slice.
func (s Space) AppendNode(at []int64, node *sched.Node) []int64 {
	for _, d := range s {
		at = append(at, max(0, d.Node(node)))
	}
	return at
}

// Pod returns the pod's coordinate in each dimension, before the index divides it by the
// granularity.
func (s Space) Pod(pod *sched.Pod) []int64 { return s.AppendPod(make([]int64, 0, len(s)), pod) }

// AppendPod appends the pod's coordinates, as Pod returns them, to the given slice, and returns the
// extended slice.
func (s Space) AppendPod(at []int64, pod *sched.Pod) []int64 {
	for _, d := range s {
		at = append(at, d.Pod(pod))
	}
	return at
}

// Amounts returns those dimensions in s that depend only on the amounts of whole nodes
// (sched.Amounts), and not on NUMA nodes or single GPUs.
func (s Space) Amounts() (amounts Space) {
	for _, d := range s {
		if d.amounts {
			amounts = append(amounts, d)
		}
	}
	return amounts
}

// ParseDimension parses one of DimensionNames. For "gpus", "gpu-share" and "gpu-total", the text
// may also have a colon and a type of GPU at the end, as in "gpus:H200". ParseDimension also
// accepts the full name of any other resource if the name has a dot or is "ephemeral-storage".
//
// In the dimension "numa-total", the coordinate of a node is the number of its free exclusive CPUs,
// in "numa-single" the largest number of them on a single NUMA node, and in "numa-spread" the
// number of them that can be spread evenly over all NUMA nodes. In the dimension "gpus", it is the
// number of entirely free GPUs, in "gpu-share" the largest free amount of a single GPU, and in
// "gpu-total" the sum of the free amounts of all GPUs.
func ParseDimension(text string) (Dimension, error) {
	name, kind, _ := strings.Cut(text, ":")
	for _, d := range ofGPUs() {
		if d.name == name {
			return d.make(text, kind), nil
		}
	}
	for _, d := range fixed() {
		if d.Name == text {
			return d, nil
		}
	}
	if strings.Contains(text, ".") || text == "ephemeral-storage" {
		return extended(text), nil
	}
	return Dimension{}, fmt.Errorf("parse dimension %q: want %s or the full name of a resource", text, strings.Join(DimensionNames(), ", "))
}

// DimensionNames returns the names of all dimensions except those that have the full name of a
// resource: "cpu", "memory", "pods", "numa-total", "numa-single", "numa-spread", "gpus",
// "gpu-share" and "gpu-total".
func DimensionNames() (names []string) {
	for _, d := range fixed() {
		names = append(names, d.Name)
	}
	for _, d := range ofGPUs() {
		names = append(names, d.name)
	}
	return names
}

// ParseSpace parses a comma-separated list of dimensions in the syntax of ParseDimension.
func ParseSpace(text string) (Space, error) {
	var space Space
	for name := range strings.SplitSeq(text, ",") {
		d, err := ParseDimension(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		space = append(space, d)
	}
	return space, nil
}

func fixed() Space {
	return Space{
		amount("cpu", func(a sched.Amounts) int64 { return int64(a.CPU) }),
		amount("memory", func(a sched.Amounts) int64 { return int64(a.Memory) }),
		amount("pods", func(a sched.Amounts) int64 { return int64(a.Pods) }),
		{Name: "numa-total", Node: freeExclusive, Pod: peakExclusive},
		{Name: "numa-single", Node: largestFree, Pod: ofPolicy(podspec.Single)},
		{Name: "numa-spread", Node: evenFree, Pod: ofPolicy(podspec.Spread)},
	}
}

func extended(name string) Dimension {
	one := unique.Make(name) // the same string that nodes and pods use, so that names are compared by address
	return amount(name, func(a sched.Amounts) int64 { return a.Extended.Of(one.Value()) })
}

// amount returns the dimension of one resource. It compares the amount that is free on a node with
// the amount that a pod requests.
func amount(name string, of func(sched.Amounts) int64) Dimension {
	return Dimension{
		Name:    name,
		Node:    func(node *sched.Node) int64 { return of(node.Free) },
		Pod:     func(pod *sched.Pod) int64 { return of(pod.Requests) },
		amounts: true,
	}
}

package filter

import (
	"fmt"
	"strings"
	"unique"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// Dimension turns nodes and pods into one coordinate each. Its law:
//
//	Check(pod, node) has no reason  ⇒  Node(node.For(pod.Claim())) ≥ Pod(pod)
//
// so that an index may leave out every node below a pod's coordinate. The
// converse need not hold: an index finds nodes worth looking at.
type Dimension struct {
	Name string // as ParseDimension reads it
	Node func(*sched.Node) int64
	Pod  func(*sched.Pod) int64
}

// Space is the dimensions of one index, in the administrator's order.
type Space []Dimension

// Node returns the exact coordinates of what is free on a node, whether reserved
// or not. They are never negative.
func (s Space) Node(n *sched.Node) []int64 { return s.AppendNode(make([]int64, 0, len(s)), n) }

// AppendNode appends what Node returns.
func (s Space) AppendNode(at []int64, n *sched.Node) []int64 {
	for _, d := range s {
		at = append(at, max(0, d.Node(n)))
	}
	return at
}

// Pod returns the exact coordinates of what a pod asks for.
func (s Space) Pod(p *sched.Pod) []int64 { return s.AppendPod(make([]int64, 0, len(s)), p) }

// AppendPod appends what Pod returns.
func (s Space) AppendPod(at []int64, p *sched.Pod) []int64 {
	for _, d := range s {
		at = append(at, d.Pod(p))
	}
	return at
}

// ParseDimension reads "cpu", "memory", "pods", "numa-total", "numa-single",
// "numa-spread", "gpus", "gpu-share", "gpu-total", each of the last three
// optionally for one type of card ("gpus:H200"), or the full name of any other
// resource, which has a dot or is "ephemeral-storage".
func ParseDimension(text string) (Dimension, error) {
	name, kind, _ := strings.Cut(text, ":")
	switch name {
	case "gpus":
		return wholeGPUs(text, kind), nil
	case "gpu-share":
		return largestShare(text, kind), nil
	case "gpu-total":
		return totalGPU(text, kind), nil
	}
	for _, d := range fixed() {
		if d.Name == text {
			return d, nil
		}
	}
	if strings.Contains(text, ".") || text == "ephemeral-storage" {
		return extended(text), nil
	}
	return Dimension{}, fmt.Errorf("parse dimension %q: want cpu, memory, pods, numa-total, numa-single, numa-spread, gpus, gpu-share, gpu-total or the full name of a resource", text)
}

// ParseSpace reads the dimensions of an index, separated by commas.
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
		{"cpu", func(n *sched.Node) int64 { return int64(n.Free.CPU) }, func(p *sched.Pod) int64 { return int64(p.Requests.CPU) }},
		{"memory", func(n *sched.Node) int64 { return int64(n.Free.Memory) }, func(p *sched.Pod) int64 { return int64(p.Requests.Memory) }},
		{"pods", func(n *sched.Node) int64 { return int64(n.Free.Pods) }, func(p *sched.Pod) int64 { return int64(p.Requests.Pods) }},
		{"numa-total", freeExclusive, peakExclusive},
		{"numa-single", largestFree, ofPolicy(podspec.Single)},
		{"numa-spread", evenFree, ofPolicy(podspec.Spread)},
	}
}

func extended(name string) Dimension {
	one := unique.Make(name) // the string that nodes and pods have
	return Dimension{name,
		func(n *sched.Node) int64 { return n.Free.Extended.Of(one.Value()) },
		func(p *sched.Pod) int64 { return p.Requests.Extended.Of(one.Value()) }}
}

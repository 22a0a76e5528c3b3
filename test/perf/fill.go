package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// fillNamespace is the namespace of the pods that fill the nodes.
const fillNamespace = "perf-fill"

// fills is a list of percentages. It implements encoding.TextMarshaler and
// encoding.TextUnmarshaler.
type fills []int

// MarshalText writes, for example, "50,95".
func (f fills) MarshalText() ([]byte, error) {
	var words []string
	for _, percent := range f {
		words = append(words, strconv.Itoa(percent))
	}
	return []byte(strings.Join(words, ",")), nil
}

// UnmarshalText reads percentages from 1 to 99, separated by commas.
func (f *fills) UnmarshalText(text []byte) error {
	*f = nil
	for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == ',' }) {
		percent, err := strconv.Atoi(word)
		if err != nil || percent < 1 || percent > 99 {
			return fmt.Errorf("%q: want percentages from 1 to 99, such as 50,95", text)
		}
		*f = append(*f, percent)
	}
	return nil
}

// shape returns the resources that each node has.
func shape() hollowcluster.Shape {
	return hollowcluster.Shape{NUMA: 2, CPUs: 32, GPUs: 8, Zones: 3}
}

// node returns the i-th node. In a busy cluster, every tenth node has a taint that no pod
// tolerates, and some nodes have the label that the waiting gang (see makeWaiting) selects.
func (f *field) node(i int) *corev1.Node {
	node := shape().Node(i)
	if !f.busy() {
		return node
	}
	if i%10 == 7 {
		node.Spec.Taints = []corev1.Taint{{Key: "numalet.test/dedicated", Value: "others", Effect: corev1.TaintEffectNoSchedule}}
	}
	if forGang(i) {
		node.Labels[gangLabel] = "room"
	}
	return node
}

// fillOf returns the percentage to which the i-th node is full. The parameter `percent` is the
// average of all nodes. The nodes have five different percentages, and each of these applies to a
// fifth of the nodes. For an average of 50, the five percentages are 0, 25, 50, 75 and 100.
func fillOf(percent, i int) float64 {
	step := float64(min(percent, 100-percent)) / 2
	return float64(percent) + float64(i%5-2)*step
}

// fill creates one pod on each node. The pod requests a part of the node's CPUs and GPUs. These
// pods stay until the method is called with another percentage.
func (f *field) fill(ctx context.Context, percent int) error {
	if f.filled == percent {
		return nil
	}
	if f.filled > 0 {
		if err := f.plane.Clear(ctx, fillNamespace); err != nil {
			return err
		}
	}
	say("filling the nodes to %d %%", percent)
	f.filled = percent
	return f.plane.MakePods(ctx, fillNamespace, f.Nodes, func(i int) *corev1.Pod { return filler(percent, i) })
}

// filler returns the pod that fills the i-th node.
func filler(percent, i int) *corev1.Pod {
	part, s := fillOf(percent, i)/100, shape()
	cpus := fmt.Sprintf("%dm", int(1000*part*float64(s.NUMA*s.CPUs-1))) // one CPU is reserved
	pod := hollowcluster.Pod(fillNamespace, podName(i), "nobody", cpus, int(part*float64(s.GPUs)))
	pod.Spec.NodeName = s.Node(i).Name
	return pod
}

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnplaceable checks that there are three different reasons why the pods fit no node. Each reason
// applies to a third of the pods.
func TestUnplaceable(t *testing.T) {
	for i := range 6 {
		pod := unplaceable("s", i)
		got := []bool{pod.Spec.Containers[0].Resources.Requests.Cpu().Value() > 100, pod.Spec.NodeSelector != nil, pod.Spec.Affinity != nil}
		want := []bool{i%3 == 0, i%3 == 1, i%3 == 2}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pod %d is too large, selects nodes, requires a neighbor (-want +got):\n%s", i, diff)
		}
	}
}

// TestGang checks the nodes for the waiting gang (a group of pods that start together). These nodes
// have no taint and enough free CPUs. gangNodes must return their number, because the gang gets one
// member more than there are such nodes.
func TestGang(t *testing.T) {
	for nodes, want := range map[int]int{5000: gangRoom, 500: gangRoom, 100: 40} {
		f := &field{options: options{Nodes: nodes, Fill: fills{95}}}
		n := 0
		for i := range nodes {
			node := f.node(i)
			if node.Labels[gangLabel] == "" {
				continue
			}
			if n++; node.Spec.Taints != nil || fillOf(95, i) > 95 {
				t.Errorf("node %d is %v %% full and has the taints %v", i, fillOf(95, i), node.Spec.Taints)
			}
		}
		if n != want || f.gangNodes() != want {
			t.Errorf("%d of %d nodes have the gang's label, and it counts %d: want %d", n, nodes, f.gangNodes(), want)
		}
	}
}

// TestFill checks that the nodes are on average filled to the given percentage, and that no node is
// filled beyond its capacity.
func TestFill(t *testing.T) {
	for percent, want := range map[int][]float64{50: {0, 25, 50, 75, 100}, 95: {90, 92.5, 95, 97.5, 100}, 10: {0, 5, 10, 15, 20}} {
		var got []float64
		for i := range 5 {
			got = append(got, fillOf(percent, i))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d %% (-want +got):\n%s", percent, diff)
		}
	}
	pod := filler(95, 3)
	got := []string{pod.Spec.NodeName, pod.Spec.Containers[0].Resources.Requests.Cpu().String(), pod.Spec.Containers[0].Resources.Requests.Name("nvidia.com/gpu", "").String()}
	if diff := cmp.Diff([]string{"node-00003", "61425m", "7"}, got); diff != "" {
		t.Errorf("filler (-want +got):\n%s", diff)
	}
}

// TestMixed checks that a fifth of the pods have an affinity or a topology spread constraint.
func TestMixed(t *testing.T) {
	rules := 0
	for i := range 100 {
		if s := mixed(i, "s").Spec; s.Affinity != nil || s.TopologySpreadConstraints != nil {
			rules++
		}
	}
	if rules != 20 {
		t.Errorf("%d of 100 pods have a rule, want 20", rules)
	}
}

func TestFillsText(t *testing.T) {
	for text, want := range map[string]string{"50,95": "50,95", "": "", "50,": "50", "100": "error", "x": "error", "-1": "error"} {
		var f fills
		err := f.UnmarshalText([]byte(text))
		got, _ := f.MarshalText()
		if err != nil {
			got = []byte("error")
		}
		if string(got) != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

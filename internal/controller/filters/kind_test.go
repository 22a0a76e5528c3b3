package filters

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// TestKind checks with random pods, while nodes and pods change, that the filters refuse pods
// with equal keys (Kind) on the same nodes and for the same reasons.
func TestKind(t *testing.T) {
	s, r := newScene(t), rand.New(rand.NewPCG(9, 9))
	for i := range 6 {
		s.with([]*v1.Node{randomNode(r, fmt.Sprint("n", i))})
	}
	shared := 0
	for range 60 {
		for range 10 {
			s.change(r)
		}
		var nodes []string
		for i := range 6 {
			if name := fmt.Sprint("n", i); s.state.Record(name) != nil {
				nodes = append(nodes, name)
			}
		}
		s.nodes = nodes
		seen := map[string]map[string]string{}
		for range 30 {
			object := randomRuled(r)
			kind := s.cluster.Kind(s.request(object).Foreign.(*Pod))
			if kind == "" {
				continue
			}
			against, _ := s.judge(s.proposer, object)
			if before, ok := seen[kind]; ok {
				shared++
				if diff := cmp.Diff(before, against); diff != "" {
					t.Fatalf("two pods of the kind %q (-first +second):\n%s", kind, diff)
				}
			}
			seen[kind] = against
		}
		s.nodes = []string{"n0", "n1", "n2", "n3", "n4", "n5"}
	}
	if shared < 200 {
		t.Errorf("only %d pods share a kind", shared)
	}
}

// TestKindOfLabels checks that Kind ignores labels that no anti-affinity of a placed pod selects,
// such as a label with the name of each pod of a StatefulSet.
func TestKindOfLabels(t *testing.T) {
	s := newScene(t).with([]*v1.Node{node("n1").Obj()},
		pod("lone").Label("app", "lone").PodAntiAffinityExists("lone", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq).Node("n1").Obj())
	kind := func(labels ...string) string {
		object := pod("p")
		for _, label := range labels {
			object.Label(label, "x")
		}
		return s.cluster.Kind(s.request(object.Obj()).Foreign.(*Pod))
	}
	got := []bool{kind() == kind("app"), kind("lone") == kind("lone", "app"), kind() == kind("lone")}
	if diff := cmp.Diff([]bool{true, true, false}, got); diff != "" {
		t.Errorf("pods are of one kind: with another label, both selected with another label, one selected (-want +got):\n%s", diff)
	}
}

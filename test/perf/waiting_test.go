package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBusyRounds checks which rounds there are with and without waiting pods.
func TestBusyRounds(t *testing.T) {
	for waiting, want := range map[int][]string{
		0: {
			"floor, no events plain", "floor plain", "client with informers plain", "kube-scheduler plain", "numalet plain",
			"floor, no events gpu", "floor gpu", "client with informers gpu", "kube-scheduler gpu", "numalet gpu", "numalet single",
		},
		300: {"kube-scheduler plain", "numalet plain", "kube-scheduler plain, 300 waiting", "numalet plain, 300 waiting"},
	} {
		var got []string
		for _, l := range loads(waiting) {
			for _, c := range contenders() {
				if !c.skip(l, waiting) {
					got = append(got, c.name+" "+l.name)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rounds with %d waiting (-want +got):\n%s", waiting, diff)
		}
	}
}

// TestUnplaceable checks that each third of the waiting pods has another reason to wait.
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

package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

func ExampleTally() {
	refused := sched.Tally{
		{Code: sched.Insufficient, Detail: "cpu"}: 4000,
		{Code: sched.NoNUMANode}:                  800,
		{Code: sched.Other, Detail: "node(s) had untolerated taint {example.com/batch: }"}: 200,
	}
	fmt.Println(refused)
	// Output: 0/5000 nodes are available: 4000 Insufficient cpu, 800 node(s) had no NUMA node with enough exclusive CPUs, 200 node(s) had untolerated taint {example.com/batch: }.
}

// TestTakeReturn checks that Return undoes Take except for the version, that each of them increases
// the version by 1, and that neither changes an existing record.
func TestTakeReturn(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		pod, node := schedtest.Pod(r, "p"), schedtest.Node(r, "n")
		at, reason := filter.Place(pod, node)
		if reason.Refuses() {
			continue
		}
		before := fmt.Sprintf("%+v", *node)
		taken := node.Take(sched.Hold(pod, at))
		back := taken.Return(sched.Hold(pod, at))
		if after := fmt.Sprintf("%+v", *node); after != before {
			t.Fatalf("the record changed:\n%s\n%s", before, after)
		}
		if taken.Version != node.Version+1 || back.Version != node.Version+2 {
			t.Fatalf("versions %d, %d, %d: want each one more", node.Version, taken.Version, back.Version)
		}
		back.Version = node.Version
		if diff := cmp.Diff(node, back); diff != "" {
			t.Fatalf("taken and given back (-before +after):\n%s", diff)
		}
	}
}

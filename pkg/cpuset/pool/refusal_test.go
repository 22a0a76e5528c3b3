package pool

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

func TestRefusalHasNumbers(t *testing.T) {
	m := machinetest.Machine(2, 4).SMT(2).Memory(8 << 30).Build()
	l := mustNew(t, m, Options{Reserved: cpuset.Of(0)})
	for name, tc := range map[string]struct {
		policy Policy
		want   Want
		reason Reason
		never  bool
	}{
		"too few":             {Random, Want{CPUs: 16}, TooFew, true},
		"uneven":              {Spread, Want{CPUs: 16}, Uneven, true},
		"no node":             {Single, Want{CPUs: 9}, NoNode, true},
		"named node short":    {Random, Want{CPUs: 8, PerNode: map[topology.NodeID]int{0: 8}}, Short, true},
		"memory":              {Single, Want{CPUs: 1, MemoryBytes: 9 << 30}, NoMemory, false},
		"no CPU":              {Single, Want{}, Invalid, false},
		"counts do not add":   {Random, Want{CPUs: 2, PerNode: map[topology.NodeID]int{1: 1}}, Invalid, false},
		"unknown node":        {Random, Want{CPUs: 2, PerNode: map[topology.NodeID]int{5: 2}}, Invalid, false},
		"negative count":      {Random, Want{CPUs: 2, PerNode: map[topology.NodeID]int{0: 3, 1: -1}}, Invalid, false},
		"not single":          {Single, Want{CPUs: 2, PerNode: map[topology.NodeID]int{0: 1, 1: 1}}, Invalid, false},
		"not a spread":        {Spread, Want{CPUs: 2, PerNode: map[topology.NodeID]int{0: 2}}, Invalid, false},
		"more than a machine": {Random, Want{CPUs: 9, PerNode: map[topology.NodeID]int{0: 9}}, Invalid, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Reserve(Pod{UID: "u", Policy: tc.policy, Containers: []Want{tc.want}})
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if r.Reason != tc.reason || r.CPUs != tc.want.CPUs || r.Reason != Invalid && r.never() != tc.never {
				t.Errorf("got %+v, want reason %s, never %t", r, tc.reason, tc.never)
			}
		})
	}
}

// TestReserveIsAllOrNothing checks that a pod of which one container does not
// fit changes nothing.
func TestReserveIsAllOrNothing(t *testing.T) {
	l := mustNew(t, machinetest.Machine(1, 4).Build(), Options{})
	before := stateOf(l)
	_, err := l.Reserve(Pod{UID: "u", Containers: []Want{{Container: "a", CPUs: 2}, {Container: "b", CPUs: 2}}})
	if err == nil {
		t.Fatal("4 of 3 free CPUs were granted")
	}
	if diff := cmp.Diff(before, stateOf(l)); diff != "" {
		t.Errorf("ledger changed (-before +after):\n%s", diff)
	}
}

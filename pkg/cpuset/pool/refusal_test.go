package pool

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

func TestRefusalHasNumbers(t *testing.T) {
	m := machinetest.Machine(2, 4).SMT(2).Memory(8 << 30).Build()
	l := mustNew(t, m, Options{Reserved: cpuset.Of(0)})
	for name, tc := range map[string]struct {
		policy podspec.Policy
		want   podspec.Container
		reason numaplan.Outcome
		never  bool
	}{
		"too few":             {podspec.Random, podspec.Container{CPUs: 16}, numaplan.TooFew, true},
		"uneven":              {podspec.Spread, podspec.Container{CPUs: 16}, numaplan.Uneven, true},
		"no node":             {podspec.Single, podspec.Container{CPUs: 9}, numaplan.NoNode, true},
		"named node short":    {podspec.Random, podspec.Container{CPUs: 8, PerNode: map[topology.NodeID]int{0: 8}}, numaplan.Short, true},
		"memory":              {podspec.Single, podspec.Container{CPUs: 1, MemoryBytes: 9 << 30}, numaplan.NoMemory, true},
		"no CPU":              {podspec.Single, podspec.Container{}, numaplan.Invalid, false},
		"counts do not add":   {podspec.Random, podspec.Container{CPUs: 2, PerNode: map[topology.NodeID]int{1: 1}}, numaplan.Invalid, false},
		"unknown node":        {podspec.Random, podspec.Container{CPUs: 2, PerNode: map[topology.NodeID]int{5: 2}}, numaplan.Invalid, false},
		"negative count":      {podspec.Random, podspec.Container{CPUs: 2, PerNode: map[topology.NodeID]int{0: 3, 1: -1}}, numaplan.Invalid, false},
		"not single":          {podspec.Single, podspec.Container{CPUs: 2, PerNode: map[topology.NodeID]int{0: 1, 1: 1}}, numaplan.Invalid, false},
		"not a spread":        {podspec.Spread, podspec.Container{CPUs: 2, PerNode: map[topology.NodeID]int{0: 2}}, numaplan.Invalid, false},
		"more than a machine": {podspec.Random, podspec.Container{CPUs: 9, PerNode: map[topology.NodeID]int{0: 9}}, numaplan.Invalid, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Reserve(Pod{UID: "u", Policy: tc.policy, Containers: []podspec.Container{tc.want}})
			var r *numaplan.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if r.Reason != tc.reason || r.CPUs != tc.want.CPUs || r.Never != tc.never {
				t.Errorf("got %+v, want reason %s, never %t", r, tc.reason, tc.never)
			}
		})
	}
}

// TestReserveIsAllOrNothing checks that the ledger does not change if one container of a pod
// does not fit.
func TestReserveIsAllOrNothing(t *testing.T) {
	l := mustNew(t, machinetest.Machine(1, 4).Build(), Options{})
	before := stateOf(l)
	_, err := l.Reserve(Pod{UID: "u", Containers: []podspec.Container{{Name: "a", CPUs: 2}, {Name: "b", CPUs: 3}}})
	if err == nil {
		t.Fatal("5 of 4 free CPUs were granted")
	}
	if diff := cmp.Diff(before, stateOf(l)); diff != "" {
		t.Errorf("ledger changed (-before +after):\n%s", diff)
	}
}

// TestRemediesAreForTheWholePod checks the advice in a refusal: whether the pod would never fit
// (Never), and whether it would fit with the policy "random" (AtRandom). This advice must be about
// all containers of the pod, not only about the one that does not fit.
func TestRemediesAreForTheWholePod(t *testing.T) {
	two := func(cpus int) []podspec.Container {
		return []podspec.Container{{Name: "a", CPUs: cpus}, {Name: "b", CPUs: cpus}}
	}
	for name, tc := range map[string]struct {
		policy          podspec.Policy
		wants           []podspec.Container
		never, atRandom bool
	}{
		"each fits alone, both never":    {podspec.Random, two(5), true, false},
		"both fit when others end":       {podspec.Random, two(4), false, false},
		"single: both never, at random":  {podspec.Single, []podspec.Container{{Name: "a", CPUs: 5}}, true, true},
		"single: when others end":        {podspec.Single, append(two(3), podspec.Container{Name: "c", CPUs: 2}), false, false},
		"spread: when others end":        {podspec.Spread, two(3), false, true},
		"all CPUs but none stays shared": {podspec.Random, []podspec.Container{{Name: "a", CPUs: 9}}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustNew(t, machinetest.Machine(3, 3).Build(), Options{})
			if err := l.Restore(Grant{UID: "other", Claims: []Claim{{Container: "x", CPUs: cpuset.Of(0, 1)}}}); err != nil {
				t.Fatal(err)
			}
			pod := Pod{UID: "u", Policy: tc.policy, Containers: tc.wants}
			var r *numaplan.Refusal
			if _, err := l.Reserve(pod); !errors.As(err, &r) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if r.Never != tc.never || r.AtRandom != tc.atRandom {
				t.Errorf("got %+v, want never %t, at random %t", r, tc.never, tc.atRandom)
			}
		})
	}
}

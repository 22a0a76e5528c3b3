package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

func TestReplace(t *testing.T) {
	claims := func(lists ...string) []Claim {
		var all []Claim
		for i, list := range lists {
			kind := podspec.App
			if i < len(lists)-1 {
				kind = podspec.Init
			}
			all = append(all, Claim{Container: fmt.Sprint(i), Kind: kind, CPUs: cpuset.MustParse(list)})
		}
		return all
	}
	// The two NUMA nodes have CPUs 0-3,8-11 and 4-7,12-15. CPUs n and n+8 are one core.
	for name, tc := range map[string]struct {
		offline   string
		fullCores bool
		held      []Claim
		others    string
		want      []Claim
	}{
		"a sibling first":             {offline: "9", held: claims("1,9,3"), want: claims("1,3,11")},
		"on its NUMA node":            {offline: "12", held: claims("0,12"), want: claims("0,4")},
		"two at once":                 {offline: "4,12", held: claims("4,12"), want: claims("5,13")},
		"in all claims that have it":  {offline: "9", held: claims("1,9", "9"), want: claims("1,8", "8")},
		"none is free":                {offline: "9", held: claims("1,9"), others: "2-3,8,10-11", want: claims("1,9")},
		"one of two":                  {offline: "9-10", held: claims("9-10"), others: "1-2,8,11", want: claims("3,10")},
		"none is offline":             {offline: "15", held: claims("1,9"), want: claims("1,9")},
		"no core with another pod":    {offline: "9", fullCores: true, held: claims("1,9"), others: "2", want: claims("1,3")},
		"the last CPU stays shared":   {offline: "0,5-8,12-15", held: claims("1,9,0"), others: "2-4,10", want: claims("0,1,9")},
		"reserved CPUs are not taken": {offline: "9", held: claims("1,9"), others: "3,8,10-11", want: claims("1-2")},
	} {
		t.Run(name, func(t *testing.T) {
			b := machinetest.Machine(2, 4).SMT(2)
			before := mustNew(t, b.Build(), Options{})
			l := mustNew(t, b.Offline(tc.offline).Build(), Options{FullCores: tc.fullCores, Reserved: cpuset.Of(0)})
			mustRestore(t, l, Grant{UID: "a", Claims: tc.held})
			mustRestore(t, l, Grant{UID: "b", Claims: claims(tc.others)})
			homes := before.Homes(held(tc.held))
			got, changed := l.Replace("a", homes)
			if diff := cmp.Diff(tc.want, got.Claims); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if want := !cmp.Equal(tc.held, tc.want); changed != want {
				t.Errorf("changed: %t, want %t", changed, want)
			}
			if kept, _ := l.Grant("a"); !cmp.Equal(kept, got) || l.Shared().Empty() {
				t.Errorf("the ledger has %v and shares %s", kept, l.Shared())
			}
		})
	}
}

// TestReplaceAtRandom checks on random machines and grants that an offline CPU is replaced by a
// free CPU of the same NUMA node, if there is one.
func TestReplaceAtRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := machinetest.Machine(1+r.IntN(2), 4).SMT(1 + r.IntN(2)).NodesPerPackage(1 + r.IntN(2))
		whole := mustNew(t, b.Build(), Options{})
		var offline cpuset.Set
		for c := range whole.layout.online.All() {
			if c > 0 && r.IntN(5) == 0 {
				offline = offline.Union(cpuset.Of(c))
			}
		}
		l := mustNew(t, b.Offline(offline.String()).Build(), Options{Reserved: cpuset.Of(0)})
		for i := range 4 {
			g, err := whole.Reserve(Pod{UID: fmt.Sprint(i), Policy: podspec.Random, Seed: seed, Containers: []podspec.Container{{CPUs: 1 + r.IntN(3)}}})
			if err == nil {
				_ = l.Restore(g) // may fail, because no CPU would stay shared
			}
		}
		for _, g := range l.Grants() {
			checkReplaced(t, l, g, whole.Homes(g.CPUs()))
		}
	}
}

func checkReplaced(t *testing.T, l *Ledger, before Grant, homes Homes) {
	t.Helper()
	free := l.Free()
	after, _ := l.Replace(before.UID, homes)
	if after.CPUs().Len() != before.CPUs().Len() {
		t.Fatalf("%s became %s", before.CPUs(), after.CPUs())
	}
	if more := after.CPUs().Minus(before.CPUs()); !more.SubsetOf(free) {
		t.Errorf("%s were not free", more.Minus(free))
	}
	for _, n := range l.layout.nodes {
		was, is := homes[n.id], after.CPUs().Intersect(n.cpus.Union(homes[n.id]))
		if was.Len() != is.Len() {
			t.Errorf("NUMA node %d had %s and has %s", n.id, was, is)
		}
		left := l.Free().Intersect(n.cpus)
		if lost := is.Minus(l.layout.online); !lost.Empty() && !left.Empty() && !l.starves(left) {
			t.Errorf("%s are not replaced although %s are free", lost, left)
		}
	}
}

func mustRestore(t *testing.T, l *Ledger, g Grant) {
	t.Helper()
	if err := l.Restore(g); err != nil {
		t.Fatal(err)
	}
}

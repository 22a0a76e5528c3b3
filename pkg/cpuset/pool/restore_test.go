package pool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

func TestRestoreRefuses(t *testing.T) {
	held := func(uid string, kinds string, cpus ...string) Grant {
		g := Grant{UID: uid}
		for i, list := range cpus {
			kind := map[byte]podspec.Kind{'a': podspec.App, 'i': podspec.Init, 's': podspec.Sidecar}[kinds[i]]
			g.Claims = append(g.Claims, Claim{Container: string(rune('x' + i)), Kind: kind, CPUs: cpuset.MustParse(list)})
		}
		return g
	}
	for name, tc := range map[string]struct {
		grant Grant
		err   string
	}{
		"free CPUs":               {held("b", "a", "4-5"), ""},
		"the same again":          {held("a", "a", "2-3"), ""},
		"the same pod, other":     {held("a", "a", "3-4"), ""},
		"init lends to app":       {held("b", "ia", "4-5", "4"), ""},
		"later sidecar of init":   {held("b", "is", "4-5", "4"), ""},
		"offline, gone":           {held("b", "a", "7,99"), ""},
		"another pod's":           {held("b", "a", "3-4"), "restore pod b: pod a holds CPUs 3 too"},
		"two apps on one CPU":     {held("b", "aa", "4-5", "5"), "restore pod b: containers x and y run together and both hold CPUs 5"},
		"init beside its sidecar": {held("b", "si", "4", "4-5"), "restore pod b: containers x and y run together and both hold CPUs 4"},
		"nothing would be shared": {held("b", "a", "0-1,4-6"), "leave no CPU to the containers that share"},
		"no UID":                  {held("", "a", "4"), "it has no UID"},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustNew(t, machinetest.Machine(1, 8).Offline("7").Build(), Options{})
			if err := l.Restore(held("a", "a", "2-3")); err != nil {
				t.Fatal(err)
			}
			before := stateOf(l)
			err := l.Restore(tc.grant)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("got %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(before, stateOf(l)); err != nil && diff != "" {
				t.Errorf("a refused grant changed the ledger (-before +after):\n%s", diff)
			}
			if got, _ := l.Grant(tc.grant.UID); err == nil && !got.CPUs().Equal(tc.grant.CPUs()) {
				t.Errorf("restored %s, want %s", got.CPUs(), tc.grant.CPUs())
			}
		})
	}
}

// TestRestoreIntoFullCores checks that pods keep CPUs that they got before FullCores was set. It
// also checks that the shared set is not empty, even if pods hold one CPU of every core.
func TestRestoreIntoFullCores(t *testing.T) {
	l := mustNew(t, machinetest.Machine(1, 2).SMT(2).Build(), Options{FullCores: true})
	for uid, cpu := range map[string]cpuset.CPU{"a": 0, "b": 1} {
		if err := l.Restore(Grant{UID: uid, Claims: []Claim{{Container: "x", CPUs: cpuset.Of(cpu)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(cpuset.Of(2, 3), l.Shared()); diff != "" {
		t.Errorf("shared (-want +got):\n%s", diff)
	}
	l.Release("b")
	if diff := cmp.Diff(cpuset.Of(1, 3), l.Shared()); diff != "" {
		t.Errorf("shared once a core is free (-want +got):\n%s", diff)
	}
}

func TestGrantAsJSON(t *testing.T) {
	g := Grant{UID: "u", Policy: podspec.Single, Claims: []Claim{{Container: "c", Kind: podspec.Sidecar, CPUs: cpuset.Of(1, 2, 5)}}}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"uid":"u","policy":"single","claims":[{"container":"c","kind":"sidecar","cpus":"1-2,5"}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("marshal (-want +got):\n%s", diff)
	}
	var back Grant
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g, back); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"policy":"even"}`), &back); err == nil {
		t.Error("an unknown policy was read")
	}
}

func TestWarningsNameWhatNobodyWouldGet(t *testing.T) {
	m := machinetest.Machine(1, 8).Offline("7").OutsideNUMA("5-6").Build()
	l := mustNew(t, m, Options{Reserved: cpuset.Of(0)})
	g := Grant{UID: "a", Claims: []Claim{{Container: "x", CPUs: cpuset.MustParse("0-1,6-7,99")}}}
	if err := l.Restore(g); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pod a holds CPUs 7,99, which are offline",
		"pod a holds CPUs 6, which are in no NUMA node",
		"pod a holds CPUs 0, which are reserved now",
	}
	if diff := cmp.Diff(want, l.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

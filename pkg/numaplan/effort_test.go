package numaplan

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/podspec"
)

// unpackable returns a request and a machine on which Plan reaches SearchLimit: 24 containers
// request all CPUs of 8 NUMA nodes, and Hooks.Allow prevents the search from storing states.
func unpackable() (Request, View, Hooks) {
	sizes := make([]int, 24)
	for i := range sizes {
		sizes[i] = 7 + i%2*4
	}
	return apps(podspec.Single, sizes...), nodes(27, 27, 27, 27, 27, 27, 27, 27), Hooks{Allow: func([]Counts) bool { return true }}
}

// TestEffort checks that calls of Plan that share one Effort try at most FullEffort choices
// together. After that, each call may try only a few more choices.
func TestEffort(t *testing.T) {
	request, view, hooks := unpackable()
	tried := 0
	hooks.Allow = func([]Counts) bool { tried++; return true }
	effort := FullEffort
	request.Effort = &effort
	const calls = 100
	for range calls {
		if _, why := Plan(request, view, hooks); why != SearchCut {
			t.Fatalf("outcome %s, want SearchCut", why)
		}
	}
	if most := int(FullEffort) + calls*(fewChoices+len(request.Containers)); tried > most || tried < SearchLimit/10 {
		t.Errorf("%d calls tried %d choices, want at most %d, and not very few", calls, tried, most)
	}
}

// TestLimitOfOnePlan checks that a call of Plan without an Effort tries at most SearchLimit
// choices. This includes the further searches that find out why the pod does not fit.
func TestLimitOfOnePlan(t *testing.T) {
	request, view, hooks := unpackable()
	tried := 0
	hooks.Allow = func([]Counts) bool { tried++; return tried%2 == 0 }
	for c := range request.Containers {
		request.Containers[c].MemoryBytes = 1
	}
	Plan(request, view, hooks)
	if tried > SearchLimit {
		t.Errorf("tried %d choices, want at most %d", tried, SearchLimit)
	}
}

// TestEffortFindsTheSame compares calls of Plan whose Effort is used up with calls without an
// Effort. If the call whose Effort is used up finds a solution, it must be the same solution.
func TestEffortFindsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	found := 0
	for range 3000 {
		request, view := anyRequest(r), anyView(r)
		want, _ := Plan(request, view, Hooks{})
		request.Effort = new(Effort)
		got, why := Plan(request, view, Hooks{})
		if why != Fits {
			continue
		}
		found++
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-without +with an Effort that is used up):\n%s", diff)
		}
	}
	if found < 300 {
		t.Errorf("only %d solutions were compared", found)
	}
}

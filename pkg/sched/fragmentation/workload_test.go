package fragmentation

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/numalet/numalet/pkg/sched"
)

// TestTypical checks the shares of kinds that were seen at different times.
func TestTypical(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	half, whole, odd := request{count: 1, milli: 500}, request{count: 1, milli: 1000}, request{cpu: 1, count: 1, milli: 1000}
	type sight struct {
		request
		n  int
		at time.Duration
	}
	for name, tc := range map[string]struct {
		seen []sight
		want []float64 // shares of three kinds of pods: those with the requests in the variables `half`, `whole` and `odd`
	}{
		"nothing":                     {nil, []float64{0, 0, 0}},
		"no GPU":                      {[]sight{{request{cpu: 5}, 9, 0}}, []float64{0, 0, 0}},
		"at the same time":            {[]sight{{half, 3, 0}, {whole, 1, 0}}, []float64{.75, .25, 0}},
		"after a time constant":       {[]sight{{half, 1, 0}, {whole, 1, time.Hour}}, []float64{1 / (1 + math.E), math.E / (1 + math.E), 0}},
		"earlier than the first":      {[]sight{{half, 1, time.Hour}, {whole, 1, 0}}, []float64{math.E / (1 + math.E), 1 / (1 + math.E), 0}},
		"after a year":                {[]sight{{half, 1000, 0}, {whole, 1, 365 * 24 * time.Hour}}, []float64{0, 1, 0}},
		"rare kinds are not measured": {[]sight{{half, 500, 0}, {whole, 500, 0}, {odd, 1, 0}}, []float64{.5, .5, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := workload{constant: time.Hour}
			for _, s := range tc.seen {
				for range s.n {
					w.see(s.request, start.Add(s.at))
				}
			}
			got := []float64{0, 0, 0}
			for _, k := range w.typical() {
				for i, r := range []request{half, whole, odd} {
					if kindOf(r) == kindOf(k.request) {
						got[i] = k.share
					}
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnnamed checks that, on nodes whose GPUs have no IDs, the free amount of the extended
// resource counts as the number of free GPUs.
func TestUnnamed(t *testing.T) {
	const resource = "nvidia.com/gpu"
	for free, want := range map[int64]int{0: 0, 1: 1, 2: 2, 9: 2, -1: 0} {
		r := New(Options{GPUResource: resource})
		node := &sched.Node{Name: "n", GPUs: make([]sched.GPU, 2)}
		node.Free.Extended = sched.ExtendedOf(map[string]int64{resource: free})
		r.Set(&sched.Slot{}, node)
		got := 0
		for len(r.Best(nil, &sched.Pod{GPUs: sched.GPURequest{Count: got + 1, Milli: sched.WholeGPU}}, 1)) == 1 {
			got++
		}
		if got != want {
			t.Errorf("%d of 2 GPUs free: pods with up to %d GPUs fit, want %d", free, got, want)
		}
	}
}

// TestManyKinds checks that a workload stores not more than mostKinds kinds, and that it keeps the
// kind with the largest weight.
func TestManyKinds(t *testing.T) {
	w := workload{constant: time.Hour}
	for i := range 3 * mostKinds {
		w.see(request{cpu: 1, count: 1, milli: 1000}, time.Time{})
		w.see(request{memory: 1, cpu: 2, count: 1 + i, milli: 1000}, time.Time{})
	}
	if heaviest := w.heaviest(); len(heaviest) > mostKinds || heaviest[0].cpu != 1 || heaviest[0].weight != 3*mostKinds {
		t.Errorf("%d kinds, the first with %+v", len(heaviest), heaviest[0])
	}
}

func TestDistance(t *testing.T) {
	kinds := func(shares ...float64) (all []want) {
		for i, s := range shares {
			all = append(all, want{request: request{count: 1 + i, milli: 1000}, share: s})
		}
		return all
	}
	for name, tc := range map[string]struct {
		a, b []want
		want float64
	}{
		"the same":          {kinds(.5, .5), kinds(.5, .5), 0},
		"another":           {kinds(1), kinds(0, 1), 1},
		"a tenth":           {kinds(.5, .5), kinds(.6, .4), .1},
		"nothing was known": {nil, kinds(.5, .5), .5},
	} {
		if got := distance(tc.a, tc.b); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: distance %v, want %v", name, got, tc.want)
		}
	}
}

package numaplan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// TestTwin compares results of Plan with a search that tries every way to distribute the CPUs of
// every container.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const cases = 10000
	fits := 0
	for i := range cases {
		req, view := anyRequest(r), anyView(r)
		hooks := Hooks{}
		if r.IntN(4) == 0 {
			hooks.Allow = apart(req)
		}
		counts, reason := Plan(req, view, hooks)
		if reason == SearchCut {
			t.Fatalf("case %d: the search was cut short\n%+v\n%+v", i, req, view)
		}
		if want := possible(req, view, hooks, nil); want != (reason == Fits) {
			t.Fatalf("case %d: %s, want fits = %v\n%+v\n%+v", i, reason, want, req, view)
		}
		if reason != Fits {
			if err := Explain(req, view, hooks).Error(); err == "" {
				t.Fatalf("case %d: refused without a word", i)
			}
			continue
		}
		fits++
		if why := wrong(req, view, counts); why != "" {
			t.Fatalf("case %d: %s\n%+v\n%+v\n%v", i, why, req, view, counts)
		}
	}
	if fits < cases/10 || fits > cases*9/10 {
		t.Errorf("%d of %d cases fit: they prove little", fits, cases)
	}
}

// The function `apart` returns a function for Hooks.Allow. With the policy "single", the function
// allows the first two containers only on different NUMA nodes.
func apart(request Request) func([]Counts) bool {
	return func(placed []Counts) bool {
		if len(request.Containers) < 2 || placed[0] == nil || placed[1] == nil {
			return true
		}
		return request.Policy != podspec.Single || !slices.Equal(placed[0], placed[1])
	}
}

func anyView(r *rand.Rand) View {
	v := View{CoreWidth: 1 + r.IntN(2), KeepShared: r.IntN(2) == 0}
	for id := range 1 + r.IntN(3) {
		on := NUMANode{ID: topology.NodeID(id * 8), FreeCPUs: r.IntN(8) / v.CoreWidth * v.CoreWidth, FreeMemory: int64(r.IntN(33))}
		if r.IntN(4) > 0 {
			on.Spare = v.CoreWidth
		}
		if r.IntN(6) == 0 {
			on.Near = []int{0, id}
		}
		v.NUMA = append(v.NUMA, on)
	}
	return v
}

func anyRequest(r *rand.Rand) Request {
	req := Request{Policy: podspec.Policy(r.IntN(3)), Seed: r.Uint64()}
	explicit := r.IntN(4) == 0
	for i := range 1 + r.IntN(4) {
		container := podspec.Container{Name: fmt.Sprint("c", i), Kind: podspec.Kind(r.IntN(3)), CPUs: 1 + r.IntN(4)}
		if r.IntN(3) == 0 {
			container.MemoryBytes = uint64(1 + r.IntN(16))
		}
		if explicit && r.IntN(2) == 0 {
			first := r.IntN(container.CPUs + 1)
			container.PerNode = map[topology.NodeID]int{0: first, 8: container.CPUs - first}
		}
		req.Containers = append(req.Containers, container)
	}
	return req
}

// possible reports whether there is a valid plan in which the first containers have the given
// numbers of CPUs. It tries all numbers for the other containers.
func possible(request Request, view View, h Hooks, given []Counts) bool {
	if len(given) == len(request.Containers) {
		return wrong(request, view, given) == "" && (h.Allow == nil || h.Allow(given))
	}
	for _, way := range ways(request.Containers[len(given)].CPUs, len(view.NUMA)) {
		if obeys(request, view, len(given), way) && possible(request, view, h, append(slices.Clone(given), way)) {
			return true
		}
	}
	return false
}

// ways returns every way to write k as a sum of n counts.
func ways(k, n int) []Counts {
	if n == 1 {
		return []Counts{{k}}
	}
	var all []Counts
	for first := range k + 1 {
		for _, rest := range ways(k-first, n-1) {
			all = append(all, append(Counts{first}, rest...))
		}
	}
	return all
}

// obeys reports whether the numbers of CPUs given as `n` satisfy the request of container c and the
// pod's policy.
func obeys(request Request, view View, c int, n Counts) bool {
	want, sum := request.Containers[c], 0
	for i, k := range n {
		sum += k
		if want.PerNode != nil && want.PerNode[view.NUMA[i].ID] != k {
			return false
		}
	}
	switch {
	case sum != want.CPUs:
		return false
	case want.PerNode != nil:
		return true
	case request.Policy == podspec.Single:
		return slices.Max(n) == want.CPUs
	case request.Policy == podspec.Spread:
		return slices.Max(n)-slices.Min(n) <= 1
	}
	return true
}

// wrong returns what is wrong with a plan, or "". It checks each set of containers that run at the
// same time.
func wrong(request Request, view View, given []Counts) string {
	shares := !view.KeepShared
	for c := range given {
		if !obeys(request, view, c, given[c]) {
			return fmt.Sprintf("container %d has %v", c, given[c])
		}
	}
	for i, on := range view.NUMA {
		cpus, memory, bound := 0, int64(0), false
		for _, moment := range moments(request.Containers) {
			nowCPUs, nowMemory := 0, int64(0)
			for _, c := range moment {
				nowCPUs += given[c][i]
				if request.Policy != podspec.Single {
					continue
				}
				bound = bound || given[c][i] > 0 && request.Containers[c].MemoryBytes > 0
				if given[c][i] > 0 || slices.ContainsFunc(on.Near, func(n int) bool { return given[c][n] > 0 }) {
					nowMemory += int64(request.Containers[c].MemoryBytes)
				}
			}
			cpus, memory = max(cpus, nowCPUs), max(memory, nowMemory)
		}
		if cpus > on.FreeCPUs || bound && memory > on.FreeMemory {
			return fmt.Sprintf("NUMA node %d has too little for %d CPUs and %d of memory", on.ID, cpus, memory)
		}
		for cpus%max(1, view.CoreWidth) != 0 {
			cpus++
		}
		shares = shares || on.Spare > 0 && on.FreeCPUs-cpus >= on.Spare
	}
	if !shares {
		return "no CPU stays shared"
	}
	return ""
}

// moments returns each set of containers that run at the same time.
func moments(containers []podspec.Container) [][]int {
	var all [][]int
	var sidecars, apps []int
	for c, want := range containers {
		switch want.Kind {
		case podspec.Init:
			all = append(all, append(slices.Clone(sidecars), c))
		case podspec.Sidecar:
			sidecars = append(sidecars, c)
		case podspec.App:
			apps = append(apps, c)
		}
	}
	return append(all, append(sidecars, apps...))
}

// FuzzPlan checks that Plan finds a plan whenever one exists, that every plan is valid, and that a
// second call gives the same result.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, one, two uint64) {
		r := rand.New(rand.NewPCG(one, two))
		req, view := anyRequest(r), anyView(r)
		counts, reason := Plan(req, view, Hooks{})
		again, same := Plan(req, view, Hooks{})
		if reason != same || fmt.Sprint(counts) != fmt.Sprint(again) {
			t.Fatalf("equal questions, two answers: %s %v and %s %v", reason, counts, same, again)
		}
		if want := possible(req, view, Hooks{}, nil); want != (reason == Fits) {
			t.Fatalf("%s, want fits = %v\n%+v\n%+v", reason, want, req, view)
		}
	})
}

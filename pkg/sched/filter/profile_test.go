package filter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// refuser is an additional filter (sched.Filter) that refuses every node.
type refuser struct{ sched.Filter }

func (refuser) Check(*sched.Node) sched.Reason { return sched.Reason{Code: sched.Other} }

// TestTry checks for which pods Try computes a placement, and that Try appends a score only if the
// pod fits the node.
func TestTry(t *testing.T) {
	node := machine([]int{8, 8}, 0, 0)
	node.Free = sched.Amounts{CPU: 7000}
	offering := joint(podspec.Single, "app 2 1")
	offering.GPUs.Offer = offerOf([]string{"0", "1"})
	for name, tc := range map[string]struct {
		pod    *sched.Pod
		also   sched.Filter
		placed bool
		why    sched.Code
	}{
		"plain":                   {pod: &sched.Pod{}, placed: true},
		"exclusive CPUs, a GPU":   {pod: joint(podspec.Single, "app 2 1"), placed: true},
		"a GPU":                   {pod: joint(podspec.Single, "app 0 1"), placed: true},
		"several GPUs":            {pod: joint(podspec.Single, "app 2 2")},
		"an offer":                {pod: offering},
		"too large":               {pod: joint(podspec.Single, "app 9 1"), why: sched.NoNUMANode},
		"too many GPUs":           {pod: joint(podspec.Random, "app 0 3"), why: sched.NoGPU},
		"another filter refuses":  {pod: &sched.Pod{}, also: refuser{}, why: sched.Other},
		"both refuse: ours first": {pod: joint(podspec.Random, "app 0 3"), also: refuser{}, why: sched.NoGPU},
	} {
		t.Run(name, func(t *testing.T) {
			profile, err := Profile{Space: fixed()[:1], Policy: distbucket.LeastFit}.Complete()
			if err != nil {
				t.Fatal(err)
			}
			scores := []int64{99}
			got, why := profile.Try(tc.pod, node, tc.also, &scores)
			var want sched.Candidate
			wantScores := []int64{99}
			if tc.why == sched.Fits {
				want = profile.Rate(tc.pod, node, new([]int64))
				wantScores = append(wantScores, want.Score...)
			}
			if tc.placed {
				want.At, _ = Place(tc.pod, node)
			}
			if diff := cmp.Diff(tc.why, why.Code) + cmp.Diff(want, got) + cmp.Diff(wantScores, scores); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRateReserved checks how Rate computes the surplus (how many GPUs of a GPU group are free on
// the node beyond the pod's request). Resources must count as free if they are reserved for the
// pod or for its gang.
func TestRateReserved(t *testing.T) {
	for name, pod := range map[string]*sched.Pod{
		"a pod":      {UID: "u1"},
		"its gang":   {UID: "u2", Gang: &sched.Gang{ID: "u1"}},
		"not theirs": {UID: "u3"},
	} {
		t.Run(name, func(t *testing.T) {
			node := machine([]int{8, 8}, 0, 0).Reserve(&sched.Reservation{UID: "u1", Holding: sched.Holding{Amounts: sched.Amounts{CPU: 3000}}})
			pod.GPUs.Offer = func(n *sched.Node) sched.Offer { return sched.Offer{Over: int(n.Free.CPU)} }
			got := (&Profile{}).Rate(pod, node, new([]int64)).Surplus
			if want := int(node.For(pod.Claim()).Free.CPU); got != want {
				t.Errorf("the offer is computed with %d free, want %d", got, want)
			}
		})
	}
}

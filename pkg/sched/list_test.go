package sched_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

// TestCandidatesInOrder checks that the number of surplus GPUs is compared first, then the pod's
// preference, and then the profile's score.
func TestCandidatesInOrder(t *testing.T) {
	all := []sched.Candidate{
		{Surplus: 1, Preference: 900, Score: sched.Score{9}},
		{Preference: 100, Score: sched.Score{1}},
		{Preference: 100, Score: sched.Score{2}},
		{Preference: 200, Score: sched.Score{0}},
	}
	want := []sched.Candidate{all[3], all[2], all[1], all[0]}
	slices.SortStableFunc(all, func(a, b sched.Candidate) int { return b.Compare(a) })
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("best first (-want +got):\n%s", diff)
	}
}

package numaplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/podspec"
)

func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name       string
		policy     podspec.Policy
		held, room Counts
		k          int
		want       Counts // nil: refused
	}{
		{"single stays", podspec.Single, Counts{0, 2}, Counts{8, 3}, 3, Counts{0, 3}},
		{"single does not move", podspec.Single, Counts{0, 2}, Counts{8, 2}, 3, nil},
		{"spread evens out", podspec.Spread, Counts{3, 1}, Counts{4, 4}, 4, Counts{1, 3}},
		{"spread, odd CPU where most are free", podspec.Spread, Counts{1, 1}, Counts{2, 5}, 1, Counts{0, 1}},
		{"spread does not become uneven", podspec.Spread, Counts{1, 1}, Counts{0, 5}, 2, nil},
		{"random stays where it is", podspec.Random, Counts{2, 1}, Counts{1, 9}, 2, Counts{1, 1}},
		{"random elsewhere", podspec.Random, Counts{2, 0, 0}, Counts{0, 3, 4}, 2, Counts{0, 0, 2}},
		{"too few", podspec.Random, Counts{1, 1}, Counts{1, 1}, 3, nil},
		{"nothing", podspec.Single, Counts{0, 2}, Counts{0, 0}, 0, Counts{0, 0}},
	} {
		got, ok := Grow(c.policy, c.held, c.room, c.k)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
			t.Errorf("%s: ok %v, counts (-want +got):\n%s", c.name, ok, diff)
		}
	}
}

func TestShrinkSpread(t *testing.T) {
	for _, c := range []struct {
		held Counts
		n    int
		want Counts
	}{
		{Counts{3, 3}, 4, Counts{2, 2}},
		{Counts{3, 3}, 5, Counts{3, 2}},
		{Counts{4, 1}, 2, Counts{1, 1}},
		{Counts{2, 2}, 4, Counts{2, 2}},
		{Counts{2, 2}, 9, Counts{2, 2}},
	} {
		if diff := cmp.Diff(c.want, ShrinkSpread(c.held, c.n)); diff != "" {
			t.Errorf("%v to %d (-want +got):\n%s", c.held, c.n, diff)
		}
	}
}

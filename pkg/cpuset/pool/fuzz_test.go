package pool

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// FuzzPick checks that Pick either refuses a request with a message or returns the requested number
// of free CPUs, and that a second call returns the same CPUs.
func FuzzPick(f *testing.F) {
	for shape := range 8 {
		f.Add(uint8(shape), uint8(shape%3), uint8(4), uint64(0b1010), uint64(1), uint64(7), shape%2 == 0)
	}
	names := make([]string, 0, len(machines))
	for name := range machines {
		names = append(names, name)
	}
	slices.Sort(names)
	f.Fuzz(func(t *testing.T, shape, policy, cpus uint8, used, reserved, seed uint64, full bool) {
		m := machines[names[int(shape)%len(names)]]
		o := PickOptions{
			Policy: podspec.Policy(policy % 3), CPUs: int(cpus), Seed: seed, FullCores: full,
			Used: ofMask(used).Intersect(m.Online()), Reserved: ofMask(reserved).Intersect(m.Online()),
		}
		got, err := Pick(m, o)
		again, _ := Pick(m, o)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("equal questions, two answers (-first +second):\n%s", diff)
		}
		if err != nil {
			if err.Error() == "" || !got.Empty() {
				t.Fatalf("refused with %q and %s", err, got)
			}
			return
		}
		if got.Len() != o.CPUs || got.Overlaps(o.Used.Union(o.Reserved)) || !got.SubsetOf(m.Online()) {
			t.Fatalf("%+v: picked %s", o, got)
		}
	})
}

func ofMask(mask uint64) cpuset.Set {
	var ids []cpuset.CPU
	for i := range cpuset.CPU(64) {
		if mask>>i&1 == 1 {
			ids = append(ids, i)
		}
	}
	return cpuset.Of(ids...)
}

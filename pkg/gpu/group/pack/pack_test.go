package pack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPack(t *testing.T) {
	for name, tc := range map[string]struct {
		bins, demands []int
		want          Packing
	}{
		"nothing":               {nil, nil, Packing{[]int{}, All}},
		"worked example":        {[]int{4, 4}, []int{2, 1, 2, 3}, Packing{[]int{1, 0, 1, 0}, All}},
		"best fit":              {[]int{8, 4}, []int{4, 8}, Packing{[]int{1, 0}, All}},
		"too large":             {[]int{4, 4}, []int{5}, Packing{[]int{Nowhere}, Proven}},
		"too many":              {[]int{4, 4}, []int{3, 3, 3}, Packing{[]int{0, 1, Nowhere}, Proven}},
		"room in pieces":        {[]int{3, 3, 3}, []int{2, 2, 2, 2}, Packing{[]int{0, 1, 2, Nowhere}, Proven}},
		"no bins":               {nil, []int{1}, Packing{[]int{Nowhere}, Proven}},
		"best fit alone fails":  {[]int{10, 10}, []int{5, 4, 4, 3, 2, 2}, Packing{[]int{0, 1, 1, 0, 0, 1}, All}},
		"bins of several sizes": {[]int{5, 7}, []int{4, 3, 3, 2}, Packing{[]int{1, 1, 0, 0}, All}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Pack(tc.bins, tc.demands)); diff != "" {
				t.Errorf("packing (-want +got):\n%s", diff)
			}
		})
	}
}

// twin reports whether the demands from the i-th on can be packed into bins with this room. It
// tries every bin for each demand, and serves to check Pack.
func twin(room, demands []int, i int) bool {
	if i == len(demands) {
		return true
	}
	for b := range room {
		if room[b] < demands[i] {
			continue
		}
		room[b] -= demands[i]
		found := twin(room, demands, i+1)
		room[b] += demands[i]
		if found {
			return true
		}
	}
	return false
}

// check returns what is wrong with a packing, or "" if it is right.
func check(bins, demands []int, p Packing) string {
	room := append([]int{}, bins...)
	nowhere := 0
	for d, b := range p.Bin {
		if b == Nowhere {
			nowhere++
		} else if room[b] -= demands[d]; room[b] < 0 {
			return "a bin overflows"
		}
	}
	switch possible := twin(append([]int{}, bins...), demands, 0); {
	case len(p.Bin) != len(demands):
		return "not a bin for each demand"
	case (p.Outcome == All) != (nowhere == 0):
		return "the outcome is not that of the bins"
	case possible != (p.Outcome == All):
		return "it could be done, or not"
	case p.Outcome == Unknown:
		return "gave up"
	}
	return ""
}

// random returns random bins, and up to nine demands of the given sizes. The sum of the demands is
// at most two more than the room of the bins.
func random(r *rand.Rand, sizes []int) (bins, demands []int) {
	room := r.IntN(3)
	for range 1 + r.IntN(4) {
		bins = append(bins, 1+r.IntN(12))
		room += bins[len(bins)-1]
	}
	for len(demands) < 9 {
		d := sizes[r.IntN(len(sizes))]
		if room -= d; room < 0 {
			break
		}
		demands = append(demands, d)
	}
	return bins, demands
}

// TestTwin checks 20,000 random packings with twin. In half of them, each size of the demands
// divides the next larger one.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20000 {
		bins, demands := random(r, [][]int{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 4, 8}, {2, 3, 5, 7}, {2, 6, 12}}[i%4])
		if packing := Pack(bins, demands); check(bins, demands, packing) != "" {
			t.Fatalf("bins %v, demands %v: %+v: %s", bins, demands, packing, check(bins, demands, packing))
		}
	}
}

// TestCut checks that Pack packs all demands if they can fill all bins exactly. The bins are up
// to 200 machines of eight GPUs, cut into demands at random.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		var bins, demands []int
		for range 1 + r.IntN(200) {
			bins = append(bins, 8)
			for left := 8; left > 0; left -= demands[len(demands)-1] {
				demands = append(demands, 1+r.IntN(left))
			}
		}
		r.Shuffle(len(demands), func(i, j int) { demands[i], demands[j] = demands[j], demands[i] })
		if packing := Pack(bins, demands); packing.Outcome != All {
			t.Fatalf("%d bins, demands %v: outcome %d", len(bins), demands, packing.Outcome)
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte{4, 4}, []byte{2, 1, 2, 3})
	f.Fuzz(func(t *testing.T, bins, demands []byte) {
		b, d := ints(bins, 4), ints(demands, 8)
		if packing := Pack(b, d); check(b, d, packing) != "" {
			t.Fatalf("bins %v, demands %v: %+v: %s", b, d, packing, check(b, d, packing))
		}
	})
}

func ints(text []byte, most int) []int {
	var all []int
	for _, c := range text[:min(most, len(text))] {
		all = append(all, 1+int(c)%16)
	}
	return all
}

// BenchmarkPack packs demands that fill 1,000 machines. In some cases best fit decreasing packs
// all demands, and in others the search is needed.
func BenchmarkPack(b *testing.B) {
	for name, tc := range map[string]struct{ machine, demands []int }{
		"easy": {[]int{8, 8}, []int{4, 2, 1, 1, 5, 3}},
		"hard": {[]int{10, 10}, []int{5, 4, 4, 3, 2, 2}},
	} {
		b.Run(name, func(b *testing.B) {
			var bins, demands []int
			for range 500 {
				bins, demands = append(bins, tc.machine...), append(demands, tc.demands...)
			}
			for b.Loop() {
				if packing := Pack(bins, demands); packing.Outcome != All {
					b.Fatal("not packed")
				}
			}
		})
	}
}

// TestPatience checks that Pack gives up the search and returns the result of best fit
// decreasing if a problem needs more steps than the limit.
func TestPatience(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var bins, demands []int
	for range 60 {
		bins = append(bins, 1000)
		for _, third := range []int{330, 330, 340} {
			demands = append(demands, third+2*r.IntN(40)-40)
		}
	}
	packing := Pack(bins, demands)
	room, placed := slices.Clone(bins), 0
	for d, b := range packing.Bin {
		if b != Nowhere {
			room[b] -= demands[d]
			placed++
		}
	}
	if packing.Outcome != Unknown || placed < len(demands)*8/10 || slices.Min(room) < 0 {
		t.Errorf("outcome %d with %d of %d demands placed, at least %d left", packing.Outcome, placed, len(demands), slices.Min(room))
	}
}

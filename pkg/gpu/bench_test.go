package gpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkChoose measures Choose on real machines with all GPUs free, and on a machine
// with sixteen GPUs and random links. To judge a change, run it ten times before and
// ten times after the change (-count 10), and compare with
// golang.org/x/perf/cmd/benchstat.
func BenchmarkChoose(b *testing.B) {
	machines := map[string]*Inventory{"random-16": random(rand.New(rand.NewPCG(1, 2)), 16)}
	for _, name := range []string{"dgx-h100", "dgx1", "a100-pcie", "dgx2"} {
		machines[name] = readMachine(b, name)
	}
	for _, name := range []string{"dgx-h100", "dgx1", "a100-pcie", "dgx2", "random-16"} {
		v := machines[name]
		var free []int
		for i := range v.GPUs {
			free = append(free, i)
		}
		for _, count := range []int{1, 2, 4, len(free) / 2} {
			b.Run(fmt.Sprintf("machine=%s/gpus=%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := v.Choose(free, Wish{Count: count}); !ok {
						b.Fatal("refused")
					}
				}
			})
		}
	}
}

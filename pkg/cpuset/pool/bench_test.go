package pool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// The figures in docs/benchmarks/logs/performance.md come from
//
//	go test ./pkg/cpuset/pool -run '^$' -bench . -benchtime 5000x
//
// To judge a change of the code, compare ten runs before and after it (-count 10) with
// golang.org/x/perf/cmd/benchstat.

// server returns a machine like a large x86 server. It has two packages with two NUMA nodes each,
// and two threads per core. At most eight cores share a last-level cache.
func server(cpus int) *topology.Machine {
	cores := cpus / 4
	return machinetest.Machine(2, cores).SMT(2).NodesPerPackage(2).CachesPerNode(max(1, cores/16)).Build()
}

// fills has functions that return the CPUs in use before the measured call: no CPU, the CPUs of
// every second core, or a random half of all CPUs. The random half leaves few entirely free cores.
var fills = map[string]func(m *topology.Machine) cpuset.Set{
	"empty": func(*topology.Machine) cpuset.Set { return cpuset.Set{} },
	"half": func(m *topology.Machine) cpuset.Set {
		return some(m, func(c topology.CPU) bool { return c.Core%2 == 1 })
	},
	"fragmented": func(m *topology.Machine) cpuset.Set {
		r := rand.New(rand.NewPCG(1, 2))
		return some(m, func(topology.CPU) bool { return r.IntN(2) == 1 })
	},
}

func some(m *topology.Machine, in func(topology.CPU) bool) cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range m.CPUs {
		if c.ID > 0 && in(c) {
			ids = append(ids, c.ID)
		}
	}
	return cpuset.Of(ids...)
}

// BenchmarkReserve measures how long it takes to place and release a pod with one container. The
// container requests a sixteenth of the machine's CPUs plus one CPU. On the machine with 16 CPUs, this
// number is 2. On the other machines, it is odd, so the container gets only one of the two CPUs of
// at least one core.
func BenchmarkReserve(b *testing.B) {
	for _, cpus := range []int{16, 64, 256, 512, 1024} {
		m := server(cpus)
		for _, fill := range []string{"empty", "half", "fragmented"} {
			for _, p := range []podspec.Policy{podspec.Spread, podspec.Single, podspec.Random} {
				b.Run(fmt.Sprintf("cpus=%d/fill=%s/policy=%s", cpus, fill, p), func(b *testing.B) {
					l := filled(b, m, fills[fill](m))
					pod := Pod{UID: "pod", Policy: p, Containers: []podspec.Container{{Name: "app", CPUs: cpus/16 + 1}}}
					measure(b, func() {
						if _, err := l.Reserve(pod); err != nil {
							b.Fatal(err)
						}
						l.Release("pod")
					})
				})
			}
		}
	}
}

// BenchmarkColdPick measures Pick, which makes a new ledger for each call.
func BenchmarkColdPick(b *testing.B) {
	for _, cpus := range []int{16, 64, 256, 512, 1024} {
		m := server(cpus)
		o := PickOptions{Policy: podspec.Spread, CPUs: cpus/16 + 1, Used: fills["fragmented"](m), Reserved: cpuset.Of(0)}
		b.Run(fmt.Sprintf("cpus=%d", cpus), func(b *testing.B) {
			measure(b, func() {
				if _, err := Pick(m, o); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkRefuse measures how long it takes to refuse a pod that does not fit.
func BenchmarkRefuse(b *testing.B) {
	m := server(512)
	l := filled(b, m, fills["fragmented"](m))
	pod := Pod{UID: "pod", Policy: podspec.Single, Containers: []podspec.Container{{Name: "app", CPUs: 128}}}
	measure(b, func() {
		if _, err := l.Reserve(pod); err == nil {
			b.Fatal("a full NUMA node was granted")
		}
	})
}

func filled(b *testing.B, m *topology.Machine, used cpuset.Set) *Ledger {
	b.Helper()
	l, err := New(m, Options{Reserved: cpuset.Of(0)})
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Restore(Grant{UID: "others", Claims: []Claim{{Container: "others", CPUs: used}}}); err != nil {
		b.Fatal(err)
	}
	return l
}

// measure runs the function given as `op` b.N times. In addition to the mean, it reports the median
// and the 99th percentile in microseconds.
func measure(b *testing.B, op func()) {
	b.ReportAllocs()
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		op()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

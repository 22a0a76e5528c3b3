package fairshare

import (
	"fmt"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// BenchmarkTenWeeks computes a tenant's score for each minute of ten weeks, in which the usage
// changes each hour.
func BenchmarkTenWeeks(b *testing.B) {
	for b.Loop() {
		book := New(newDecay(b, DefaultTimeConstant))
		for minute := range 10 * 7 * 24 * 60 {
			now := start.Add(time.Duration(minute) * time.Minute)
			if minute%60 == 0 {
				book.Start(Task{"a", "ann", now, []Charge{{"T4", Milli(1000 * (minute / 60 % 9))}}}, now)
			}
			book.Rank("ann", "T4", now)
		}
	}
}

// BenchmarkTask measures one call of Start and one call of Forget for a task, in books with
// 10, 1,000 and 100,000 tenants.
func BenchmarkTask(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint("tenants=", n), func(b *testing.B) {
			book, tenants := New(newDecay(b, DefaultTimeConstant)), names(n)
			holds := []Charge{{"T4", 1000}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now := start.Add(time.Duration(i) * time.Second)
				book.Start(Task{"uid", tenants[i%n], now, holds}, now)
				book.Forget("uid", now)
			}
		})
	}
}

func BenchmarkRank(b *testing.B) {
	book, tenants := New(newDecay(b, DefaultTimeConstant)), names(1000)
	for _, tenant := range tenants {
		book.Start(Task{tenant, tenant, start, []Charge{{"T4", 1000}, {"H200", 1000}}}, start)
	}
	for _, t := range []Type{"T4", "H200|T4"} {
		b.Run("type="+string(t), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				book.Rank(tenants[i%1000], t, after(float64(i)))
			}
		})
	}
}

func BenchmarkCharges(b *testing.B) {
	node := &sched.Node{}
	for i := range 8 {
		node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint("GPU-", i), Type: "T4"})
	}
	cores := sched.Amounts{CPU: 100}
	for _, bc := range []struct {
		what  string
		holds sched.Holding
	}{
		{"cores", sched.Holding{Amounts: cores}},
		{"gpu", sched.Holding{Amounts: cores, GPUs: []sched.GPUShare{{ID: "GPU-5", Milli: 1000}}}},
	} {
		b.Run("of="+bc.what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Charges(bc.holds, node)
			}
		})
	}
}

func names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("tenant-", i)
	}
	return names
}

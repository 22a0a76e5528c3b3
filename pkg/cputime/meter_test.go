package cputime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

const second = time.Second

// The function `at` returns a sample of container c1 on the CPUs 2-3.
func at(s int, busy, interrupts, kernel, owner time.Duration) Sample {
	return Sample{
		At: time.Unix(int64(s), 0), Container: "c1", CPUs: cpuset.MustParse("2-3"),
		Times: Times{Busy: busy, Interrupts: interrupts}, Kernel: kernel, Owner: owner,
	}
}

func TestMeter(t *testing.T) {
	restarted := at(20, 40*second, 0, 0, second)
	restarted.Container = "c2"
	offline := at(20, 30*second, 0, 0, 30*second)
	offline.CPUs = cpuset.MustParse("2")
	for name, c := range map[string]struct {
		samples []Sample
		want    Foreign // the foreign time between the last two samples
	}{
		"the first sample": {[]Sample{at(0, 5*second, second, second, second)}, Foreign{}},
		"all of the busy time is the owner's": {
			[]Sample{at(0, 0, 0, 0, 0), at(10, 20*second, 0, 0, 20*second)}, Foreign{Exclusive: 20 * second},
		},
		"each source": {
			[]Sample{at(0, second, second, second, second), at(10, 13*second, 3*second, 4*second, 3*second)},
			Foreign{Interrupts: 2 * second, Kernel: 3 * second, Other: 5 * second, Exclusive: 20 * second},
		},
		"interrupts that the kernel charged to the owner": {
			[]Sample{at(0, 0, 0, 0, 0), at(10, 10*second, 4*second, 0, 9*second)},
			Foreign{Interrupts: second, Exclusive: 20 * second},
		},
		"the owner seems to have used more than was busy": {
			[]Sample{at(0, 0, 0, 0, 0), at(10, 10*second, 0, 0, 10*second+30*time.Millisecond)}, Foreign{Exclusive: 20 * second},
		},
		"a debt is taken off": {
			[]Sample{at(0, 0, 0, 0, 0), at(10, 10*second, 0, 0, 10*second+30*time.Millisecond), at(20, 20*second, 0, 0, 19*second+30*time.Millisecond)},
			Foreign{Other: second - 30*time.Millisecond, Exclusive: 20 * second},
		},
		"a debt is bounded": {
			[]Sample{at(0, 0, 0, 0, 0), at(10, 10*second, 0, 0, 15*second), at(20, 20*second, 0, 0, 24*second)},
			Foreign{Other: second - 2*maxDebt, Exclusive: 20 * second},
		},
		"the container has restarted": {[]Sample{at(10, 20*second, 0, 0, 20*second), restarted}, Foreign{}},
		"a CPU went offline":          {[]Sample{at(10, 20*second, 0, 0, 20*second), offline}, Foreign{}},
		"a counter was reset":         {[]Sample{at(10, 20*second, 0, 0, 20*second), at(20, 30*second, 0, 0, second)}, Foreign{}},
		"the clock was set back":      {[]Sample{at(10, 20*second, 0, 0, 20*second), at(9, 30*second, 0, 0, 21*second)}, Foreign{}},
		"sums beyond 292 years": {
			[]Sample{at(0, math.MaxInt64-second, 0, 0, 0), at(10, math.MinInt64+9*second-1, 0, 0, 4*second)},
			Foreign{Other: 6 * second, Exclusive: 20 * second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m Meter
			var got Foreign
			for _, sample := range c.samples {
				got = m.Add(sample)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("foreign time (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMeterAgainstTwin compares a Meter that is updated in many short intervals with a twin, a
// single subtraction for the whole time. The foreign times of the short intervals must add up to
// that of the whole time, even if the counters of the CPUs are rounded down to steps of /proc/stat.
// The difference may be at most twice maxDebt.
func TestMeterAgainstTwin(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var m Meter
		var sum Foreign
		busy, interrupts, kernel, owner := time.Duration(0), time.Duration(0), time.Duration(0), time.Duration(0)
		m.Add(at(0, 0, 0, 0, 0))
		for i := range 200 {
			used := time.Duration(r.Int64N(int64(10 * second)))
			irq, threads, others := time.Duration(r.IntN(1e7)), time.Duration(r.IntN(1e7)), time.Duration(r.IntN(2)*r.IntN(1e9))
			owner, interrupts, kernel = owner+used, interrupts+irq, kernel+threads
			busy += used + irq + threads + others
			sum = sum.Plus(m.Add(at(i+1, busy.Truncate(tick), interrupts.Truncate(tick), kernel.Truncate(tick), owner)))
		}
		if off := (sum.Total() - (busy - owner)).Abs(); off > 2*maxDebt {
			t.Errorf("seed %d: %s in parts, %s in one, off by %s", seed, sum.Total(), busy-owner, off)
		}
	}
}

func TestThreads(t *testing.T) {
	thread := func(name string, cpu cpuset.CPU, used time.Duration, start uint64) Task {
		return Task{Name: name, Kernel: true, CPU: cpu, Used: used, Start: start}
	}
	var all Threads
	all.Update(map[PID]Task{
		1: thread("kworker/2:0", 2, 5*second, 1), 2: thread("kworker/u8:0", 3, second, 1),
		3: thread("ksoftirqd/2", 2, second, 1), 4: thread("migration/2", 2, second, 1),
	})
	all.Update(map[PID]Task{
		1: thread("kworker/2:0", 2, 6*second, 1),  // used 1 s more
		2: thread("kworker/u8:0", 7, 3*second, 1), // used 2 s more, and ran last on another CPU
		3: thread("ksoftirqd/2", 2, 9*second, 1),  // not counted here: its time counts as interrupts
		4: thread("kworker/2:1", 2, 4*second, 9),  // a new thread with the PID of one that has ended
		5: thread("kworker/3:1", 3, second/2, 8),  // new
	})
	got := fmt.Sprint(all.On(cpuset.MustParse("2")), all.On(cpuset.MustParse("3")), all.On(cpuset.MustParse("0-7")))
	if want := "5s 500ms 7.5s"; got != want {
		t.Errorf("on CPUs 2, 3 and 0-7: %s, want %s", got, want)
	}
}

func TestTake(t *testing.T) {
	online := map[cpuset.CPU]Times{1: {Busy: 5, Interrupts: 1}, 2: {Busy: 7, Interrupts: 2}, 4: {Busy: 100}}
	want := Sample{At: time.Unix(9, 0), Container: "c", CPUs: cpuset.MustParse("1-2"), Times: Times{Busy: 12, Interrupts: 3}, Owner: 4}
	got := Take(time.Unix(9, 0), "c", cpuset.MustParse("1-3"), 4, online, &Threads{})
	if diff := cmp.Diff(want, got, cmp.Comparer(cpuset.Set.Equal)); diff != "" {
		t.Errorf("Take() (-want +got):\n%s", diff)
	}
}

func TestAlarm(t *testing.T) {
	const window = 60 * second
	var a Alarm
	var sum Foreign
	for _, step := range []struct {
		seconds int    // time since the previous step
		percent int    // share of the CPUs' time that was foreign time (see Foreign)
		want    string // share of foreign time in the window, and whether the alarm is on
	}{
		{0, 0, "0% false"},
		{30, 50, "50% false"}, // no alarm yet, because the readings do not span a whole window
		{30, 0, "25% true"},
		{30, 0, "0% false"},
		{30, 10, "5% true"}, // 30 s at 0% and 30 s at 10% are 5% of the window: exactly the threshold
		{30, 0, "5% true"},
		{30, 6, "3% true"}, // between half of the threshold and the threshold
		{600, 2, "2% false"},
		{600, 7, "7% true"}, // one interval that is longer than the window, as after a time in which the agent was suspended
	} {
		d := time.Duration(step.seconds) * second
		sum = sum.Plus(Foreign{Other: d * time.Duration(step.percent) / 100, Exclusive: d})
		recent, on := a.Update(time.Unix(0, 0).Add(sum.Exclusive), sum, .05, window)
		if got := fmt.Sprintf("%.0f%% %t", 100*recent.Share(), on); got != step.want {
			t.Errorf("after %s at %d%%: %s, want %s", sum.Exclusive, step.percent, got, step.want)
		}
	}
}

// BenchmarkMachine measures the computation for one measurement on a machine with 512 CPUs and 64
// containers with 8 CPUs each. It reads no files.
func BenchmarkMachine(b *testing.B) {
	text := "cpu  1 2 3 4 5 6 7 8 9 0\n"
	for cpu := range 512 {
		text += fmt.Sprintf("cpu%d 105045 35436 18872 2228839 61 2 14 33 0 0\n", cpu)
	}
	var threads Threads
	meters := make([]Meter, 64)
	for i := range b.N {
		online, err := ParseStat(text)
		if err != nil {
			b.Fatal(err)
		}
		now := make(map[PID]Task, 4096)
		for pid := range 4096 {
			now[PID(pid)], err = ParseTask(tasks["kworker"])
			if err != nil {
				b.Fatal(err)
			}
		}
		threads.Update(now)
		for c := range meters {
			cpus := cpuset.Range(cpuset.CPU(8*c), cpuset.CPU(8*c+7))
			meters[c].Add(Take(time.Unix(int64(i), 0), "c", cpus, 0, online, &threads))
		}
	}
}

package fairshare

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start is the time at which the simulated time of the tests begins. Other times are written
// after(seconds), which is that number of seconds after start.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time { return start.Add(time.Duration(seconds * 1e9)) }

// gpus returns a task of tenant ann that has held n T4 GPUs since the time after(since).
func gpus(uid string, since float64, n Milli) Task {
	return Task{UID: uid, Tenant: "ann", Since: after(since), Holds: []Charge{{"T4", 1000 * n}}}
}

func TestTypesAreCountedApart(t *testing.T) {
	book := New(newDecay(t, 10))
	book.Start(Task{UID: "a", Tenant: "ann", Holds: []Charge{{"T4", 500}, {"H200", 2000}}}, start)
	book.Start(Task{UID: "b", Tenant: "ann", Holds: []Charge{{CPU, 8000}}}, start)
	book.Start(Task{UID: "c", Tenant: "bob", Holds: []Charge{{"T4", 1000}}}, start)
	if err := book.Weigh("ann", 4); err != nil {
		t.Fatal(err)
	}
	settled := after(1000)
	got := map[string]float64{}
	for _, who := range book.Tenants() {
		for _, what := range []Type{"T4", "H200", "P100", CPU, AnyGPU, "H200|T4", "P100|T4"} {
			got[fmt.Sprint(who, " ", what)] = math.Round(1000*book.Rank(who, what, settled)) / 1000
		}
	}
	want := map[string]float64{
		"ann T4": .125, "ann H200": .5, "ann P100": 0, "ann cpu": 2, "ann gpu": .625, "ann H200|T4": .625, "ann P100|T4": .125,
		"bob T4": 1, "bob H200": 0, "bob P100": 0, "bob cpu": 0, "bob gpu": 1, "bob H200|T4": 1, "bob P100|T4": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranks (-want +got):\n%s", diff)
	}
}

// TestFirstSeen checks the score of a tenant whose tasks were already running when Start was called
// for them. The score must be the sum of the scores that the tenant would have with each task
// alone, in whatever order Start is called.
func TestFirstSeen(t *testing.T) {
	want := 2*(1-math.Exp(-30/10.)) + 3*(1-math.Exp(-10/10.))
	for _, order := range [][]Task{
		{gpus("a", 70, 2), gpus("b", 90, 3)},
		{gpus("b", 90, 3), gpus("a", 70, 2)},
	} {
		book := New(newDecay(t, 10))
		for _, task := range order {
			book.Start(task, after(100))
		}
		if got := book.Rank("ann", "T4", after(100)); !near(want, got) {
			t.Errorf("score %v, want %v", got, want)
		}
	}
}

// TestHarmless checks that calls that are repeated, late or read-only do not change the score of a
// tenant that holds two GPUs from second 0 to second 10.
func TestHarmless(t *testing.T) {
	task := gpus("a", 0, 2)
	for name, more := range map[string]func(*Book){
		"nothing":                   func(*Book) {},
		"started twice":             func(b *Book) { b.Start(task, after(5)) },
		"ended twice":               func(b *Book) { b.End("a", after(10)); b.End("a", after(15)) },
		"started after its end":     func(b *Book) { b.End("a", after(10)); b.Start(task, after(15)) },
		"gone after its end":        func(b *Book) { b.End("a", after(10)); b.Forget("a", after(15)) },
		"gone without an end":       func(b *Book) { b.Forget("a", after(10)) },
		"looked at":                 func(b *Book) { b.Accounts("ann", after(3)); b.Rank("ann", "T4", after(7)) },
		"another ends":              func(b *Book) { b.End("b", after(5)) },
		"more, and as before":       func(b *Book) { b.Start(gpus("a", 0, 9), after(5)); b.Start(task, after(5)) },
		"for bob, and as before":    func(b *Book) { b.Start(Task{"a", "bob", start, task.Holds}, after(5)); b.Start(task, after(5)) },
		"the past is told":          func(b *Book) { b.Rank("ann", "T4", after(10)); b.Start(task, after(2)); b.End("a", after(1)) },
		"a task that holds nothing": func(b *Book) { b.Start(Task{UID: "c", Tenant: "ann"}, after(5)) },
	} {
		t.Run(name, func(t *testing.T) {
			decay := newDecay(t, 10)
			book := New(decay)
			book.Start(task, start)
			more(book)
			book.End("a", after(10))
			want := decay.Next(decay.Next(0, 2, 10), 0, 10)
			if got := book.Rank("ann", "T4", after(20)); !near(want, got) {
				t.Errorf("score %v, want %v", got, want)
			}
			if n := len(book.mu.tasks); n > 3 {
				t.Errorf("%d tasks are left", n)
			}
		})
	}
}

// TestTimeNeverGoesBack checks calls whose time is before the time of an earlier call. No time may
// be charged twice, and the score of a tenant that holds a GPU may never fall or become NaN.
func TestTimeNeverGoesBack(t *testing.T) {
	book := New(newDecay(t, 10))
	book.Start(gpus("a", 0, 1), start)
	last := 0.
	for _, second := range []float64{10, 3, -1e6, 10, 12, 11, 12} {
		got := book.Rank("ann", "T4", after(second))
		if !(got >= last) {
			t.Errorf("at second %v the score is %v, and was %v", second, got, last)
		}
		last = got
	}
	if want := 1 - math.Exp(-1.2); !near(want, last) {
		t.Errorf("score %v at second 12, want %v", last, want)
	}
	book.Start(gpus("b", 1e6, 1), after(12)) // at the time of this call, the task's start time is in the future
	if got := book.Rank("ann", "T4", after(12)); !near(last, got) {
		t.Errorf("a task of the future makes the score %v, want %v still", got, last)
	}
}

// TestRestart checks the scores after a restart. A first controller (book) stores its accounts at
// second 40 and ends. A second controller restores these accounts at second 60. The scores must
// equal those of a single controller that has run all the time.
func TestRestart(t *testing.T) {
	decay := newDecay(t, 10)
	one, first := New(decay), New(decay)
	for _, b := range []*Book{one, first} {
		b.Start(gpus("stays", 0, 2), start)
		b.Start(Task{UID: "cores", Tenant: "ann", Since: start, Holds: []Charge{{CPU, 12_500}}}, start)
		b.Start(gpus("ends", 10, 1), after(10))
	}
	first.Start(gpus("young", 38, 8), after(39)) // left out of the stored accounts, because the task is younger than Margin
	one.Start(gpus("young", 38, 8), after(39))
	stored := first.Stored("ann", after(40))
	one.Start(gpus("late", 45, 4), after(45)) // the second controller learns of this task at second 60
	second := restarted(t, decay, stored, []Task{
		gpus("late", 45, 4),
		gpus("young", 38, 8),
		gpus("stays", 0, 2),
		{UID: "cores", Tenant: "ann", Since: start, Holds: []Charge{{CPU, 12_500}}},
	}, after(60)) // the task with the UID "ends" ended before this restart, and End was not called for it, so it is charged until the restart
	one.End("ends", after(60))
	for _, second60 := range []float64{60, 61, 75, 200} {
		if diff := cmp.Diff(one.Accounts("ann", after(second60)), second.Accounts("ann", after(second60)), cmp.Comparer(near)); diff != "" {
			t.Errorf("at second %v (-one controller +two):\n%s", second60, diff)
		}
	}
}

// TestClocksDiffer checks the score after a restart if the clock that gives tasks their start times
// is ahead of or behind the clock of the book. The task "before" starts at second 0. A first
// controller stores its accounts at second 1000. The task "after" starts one second later. A second
// controller restores the accounts at second 1010. It must not charge the task "before" again for
// the time that the accounts include. If the start times are ahead by s seconds, the score may be
// too low, but at most by what both tasks add to it in s seconds.
func TestClocksDiffer(t *testing.T) {
	decay := newDecay(t, 1000)
	for _, ahead := range []float64{-1e6, -1000, -60, -10, -6, -5, -3, 0, 3, 5, 6, 10, 60, 1000} {
		before, later := gpus("before", ahead, 2), gpus("after", 1001+ahead, 3)
		for _, order := range [][]Task{{before, later}, {later, before}} {
			first := New(decay)
			first.Start(before, start)
			stored := first.Stored("ann", after(1000))
			first.Start(later, after(1001))
			second := restarted(t, decay, stored, order, after(1010))
			for _, now := range []time.Time{after(1010), after(3000)} {
				most := first.Rank("ann", "T4", now)
				least := most - decay.Next(0, 2+3, max(0, ahead))
				if got := second.Rank("ann", "T4", now); got > most+1e-9 || got < least-1e-9 {
					t.Errorf("start times are %v s ahead, %q comes first: score %v, want %v to %v", ahead, order[0].UID, got, least, most)
				}
			}
		}
	}
}

// TestWriterAhead checks that a task is not charged twice if the clock of the first controller is
// ahead of that of the second one. The stored score includes the task. The second controller must
// find this out although, by its own clock, the task is younger than Margin at the restart. (Stored
// leaves out tasks that are younger than Margin by the clock of the first controller.)
func TestWriterAhead(t *testing.T) {
	decay := newDecay(t, 10)
	task := gpus("a", 49, 1)
	first := New(decay)
	first.Start(task, after(99))
	stored := first.Stored("ann", after(100))
	second := restarted(t, decay, stored, []Task{task}, after(52))
	want := []Account{{"T4", 1000, 1 - math.Exp(-5.1), after(52)}}
	if diff := cmp.Diff(want, second.Accounts("ann", after(52)), cmp.Comparer(near)); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
}

// TestWithoutStartTime checks that Complete treats tasks without a start time as the newest tasks.
func TestWithoutStartTime(t *testing.T) {
	decay := newDecay(t, 10)
	first := New(decay)
	first.Start(gpus("a", 0, 1), start)
	stored := first.Stored("ann", after(100))
	second := restarted(t, decay, stored, []Task{{UID: "b", Tenant: "ann", Holds: []Charge{{"T4", 1000}}}, gpus("a", 0, 1)}, after(50))
	want := []Account{{"T4", 2000, 1 - math.Exp(-10), after(50)}}
	if diff := cmp.Diff(want, second.Accounts("ann", after(50)), cmp.Comparer(near)); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
}

// restarted returns a new book that has restored accounts of tenant ann, as after a restart at the
// time `now`.
func restarted(t *testing.T, d Decay, stored []Account, running []Task, now time.Time) *Book {
	t.Helper()
	book := New(d)
	for _, a := range stored {
		if err := book.Restore("ann", a, now); err != nil {
			t.Fatal(err)
		}
	}
	book.Complete(running, now)
	return book
}

// TestStoredBySeconds checks restarts if start times of tasks are rounded to whole seconds. Two
// tasks start in each second, and Start is called late. After each task, a second book restores the
// accounts that the first book returns from Stored, and must compute the same scores.
func TestStoredBySeconds(t *testing.T) {
	decay := newDecay(t, 1000)
	var started []Task
	one := New(decay)
	for half := range 60 {
		now := after(float64(half)/2 + .3)
		task := gpus(fmt.Sprint(half), float64(half/2), 1)
		started = append(started, task)
		one.Start(task, now)
		second := restarted(t, decay, one.Stored("ann", now), started, now)
		if diff := cmp.Diff(one.Accounts("ann", now), second.Accounts("ann", now), cmp.Comparer(near)); diff != "" {
			t.Fatalf("after %d tasks (-one controller +two):\n%s", half+1, diff)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, stored := range map[string]Account{
		"no number":      {Type: "T4", Score: math.NaN()},
		"infinite":       {Type: "T4", Score: math.Inf(1)},
		"negative score": {Type: "T4", Score: -1},
		"negative usage": {Type: "T4", Usage: -1},
		"open already":   {Type: CPU},
	} {
		book := New(newDecay(t, 10))
		book.Start(Task{UID: "a", Tenant: "ann", Holds: []Charge{{CPU, 1}}}, start)
		if err := book.Restore("ann", stored, start); err == nil || !strings.Contains(err.Error(), "tenant ann") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestRestoreFromTheFuture checks an account whose stored time is in the future, because the clock
// of the writer was ahead. The score must start to decay when the account is restored, and not only
// at the stored time.
func TestRestoreFromTheFuture(t *testing.T) {
	book := New(newDecay(t, 10))
	if err := book.Restore("ann", Account{Type: "T4", Score: 8, Time: after(1e6)}, start); err != nil {
		t.Fatal(err)
	}
	if want, got := 8*math.Exp(-1), book.Rank("ann", "T4", after(10)); !near(want, got) {
		t.Errorf("score %v ten seconds later, want %v", got, want)
	}
}

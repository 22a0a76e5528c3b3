package fairshare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// twin is the simplest implementation of a Book. The tests compare Book with it. It keeps the
// history of all tasks, and integrates over this history to compute a score.
type twin struct {
	constant float64
	held     []interval
	open     map[string]int // indexes in the field `held`, by UID
	now      float64
}

type interval struct {
	tenant   string
	amount   float64
	from, to float64
}

func (w *twin) start(uid, tenant string, amount, since, now float64) {
	w.now = max(w.now, now)
	if i, ok := w.open[uid]; ok {
		if w.held[i].to < math.Inf(1) {
			return
		}
		w.held[i].to, since = w.now, w.now
	}
	w.open[uid] = len(w.held)
	w.held = append(w.held, interval{tenant, amount, min(since, w.now), math.Inf(1)})
}

func (w *twin) end(uid string, now float64) {
	w.now = max(w.now, now)
	i, ok := w.open[uid]
	if !ok {
		i = len(w.held)
		w.open[uid] = i
		w.held = append(w.held, interval{})
	}
	w.held[i].to = min(w.held[i].to, w.now)
}

// score returns the score of a tenant at the time `now`. This is ∫ g(s) · e^(−(now−s)/T) ds / T
// over the whole history, where g(s) is the tenant's usage at time s, and T is the time constant.
func (w *twin) score(tenant string, now float64) (sum float64) {
	w.now = max(w.now, now)
	for _, h := range w.held {
		if h.tenant == tenant {
			sum += h.amount * (math.Exp((min(h.to, w.now)-w.now)/w.constant) - math.Exp((h.from-w.now)/w.constant))
		}
	}
	return sum
}

// world has a Book (`book`) and the simplest implementation of a Book (`twin`). Both get the same
// calls, so that their scores can be compared.
type world struct {
	*testing.T
	book   *Book
	twin   twin
	second float64
	behind float64              // the clock that gives tasks their start times is this many seconds behind the clock that gives calls their times
	newest float64              // the newest start time so far
	stored map[string][]Account // by tenant; nil if a task has ended or changed since they were stored
}

func newWorld(t *testing.T, behind float64) *world {
	return &world{T: t, book: New(newDecay(t, 100)), twin: twin{constant: 100, open: map[string]int{}, now: math.Inf(-1)}, behind: behind, newest: math.Inf(-1)}
}

// act makes the same call to the book and to the twin, and then compares their scores. The four
// arguments select the call. Some calls have an earlier time than the call before them.
func (w *world) act(kind, who, what, when uint8) {
	now := w.second + float64(when) - 20
	w.second = max(w.second, now)
	uid, tenant := fmt.Sprint(what%16), fmt.Sprint("tenant-", who%3)
	switch kind % 5 {
	case 0, 1:
		since := now - float64(who) - w.behind
		if known, ok := w.book.mu.tasks[uid]; ok && known.recentAt(after(w.second)) {
			return // Stored subtracts the score of young tasks as if they had always held what they hold now; this is not exact for a young task whose amounts have changed, so the test makes no such change
		} else if ok {
			w.stored = nil // the stored accounts still have the old tenant and the old amount of the task
		}
		if w.stored != nil {
			since = max(since, w.newest) // Book.Complete relies on the order of the start times of tasks that started after the accounts were stored
		}
		w.newest = max(w.newest, since)
		w.twin.start(uid, tenant, float64(what)/1000, since, now)
		w.book.Start(Task{uid, tenant, after(since), []Charge{{"T4", Milli(what)}}}, after(now))
	case 2:
		w.stored = nil // the stored accounts do not say that this task has ended, so a book restored from them would charge the task until the restart, and the twin does not
		w.twin.end(uid, now)
		w.book.End(uid, after(now))
	case 3:
		w.restart(after(now))
	case 4:
		w.store(after(now))
	}
	for i := range 3 {
		tenant := fmt.Sprint("tenant-", i)
		if want, got := w.twin.score(tenant, now), w.book.Rank(tenant, "T4", after(now)); !near(want, got) {
			w.Fatalf("at second %v the score of %s is %v, want %v", now, tenant, got, want)
		}
	}
}

// store stores the accounts of all tenants.
func (w *world) store(now time.Time) {
	w.stored = map[string][]Account{}
	for _, tenant := range w.book.Tenants() {
		w.stored[tenant] = w.book.Stored(tenant, now)
	}
}

// restart replaces the book by a new one. The new book restores the stored accounts. It gets a call
// of Complete with all running tasks, and a call of End for each task that has ended. If no
// accounts are stored, or they are out of date because a task has ended or changed, the method
// stores them first.
func (w *world) restart(now time.Time) {
	if w.stored == nil {
		w.store(now)
	}
	old := w.book
	now = old.advance(now)
	w.book = New(old.decay)
	for tenant, accounts := range w.stored {
		for _, a := range accounts {
			if err := w.book.Restore(tenant, a, now); err != nil {
				w.Fatal(err)
			}
		}
	}
	var running []Task
	for _, known := range old.mu.tasks {
		if !known.ended {
			running = append(running, known.Task)
		}
	}
	w.book.Complete(running, now)
	for uid, known := range old.mu.tasks {
		if known.ended {
			w.book.End(uid, now)
		}
	}
}

func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 60 {
		w := newWorld(t, []float64{0, 3, 6, 10, 60, 1000}[i%6])
		for range 200 {
			w.act(uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()))
		}
	}
}

func FuzzTwin(f *testing.F) {
	f.Add(uint16(10), []byte("start, end, restart; start, end, restart"))
	f.Fuzz(func(t *testing.T, behind uint16, script []byte) {
		w := newWorld(t, float64(behind))
		for ; len(script) >= 4 && len(w.twin.held) < 200; script = script[4:] {
			w.act(script[0], script[1], script[2], script[3])
		}
	})
}

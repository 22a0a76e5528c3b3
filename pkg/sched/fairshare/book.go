package fairshare

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Task is a pod that uses something: it is bound, or runs.
type Task struct {
	UID    string
	Tenant string
	Since  time.Time // since when; zero means since just now
	Holds  []Charge  // it is kept
}

// Book has the accounts of all tenants. Its methods may be called from any
// goroutine; each costs O(1) for a tenant with few types, but for Complete.
//
// What is told twice counts once: a pod is charged by its UID, from the first Start
// to the first End. The book's time never goes back: what is told of a time before
// the last one counts as of the last, so that no time is charged twice and no score
// falls. A task told late is charged for all of its time.
type Book struct {
	decay Decay

	mu struct {
		sync.Mutex
		now     time.Time // the latest time told
		tenants map[string]*tenant
		tasks   map[string]task // by UID
	}
}

type task struct {
	Task
	ended bool
}

type tenant struct {
	weight   Weight
	accounts map[Type]*account
	young    []string // UIDs of tasks that may have begun within Margin, in the order told
}

// New returns an empty book.
func New(d Decay) *Book {
	b := &Book{decay: d}
	b.mu.tenants, b.mu.tasks = map[string]*tenant{}, map[string]task{}
	return b
}

// Start says that a task uses something. If it did so before, with another amount
// or for another tenant, the new one holds from now on.
func (b *Book) Start(t Task, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
	known, ok := b.mu.tasks[t.UID]
	if t.Since.IsZero() {
		t.Since = now
	}
	switch {
	case known.ended:
		return
	case ok:
		b.swap(known.Task, t, now)
		t.Since = known.Since
	default:
		b.begin(t, now)
	}
	b.mu.tasks[t.UID] = task{Task: t}
}

// begin charges for a task that was not known. It needs b.mu.
func (b *Book) begin(t Task, now time.Time) {
	for _, c := range t.Holds {
		b.account(t.Tenant, c.Type, now).start(b.decay, now, t.Since, c.Amount)
	}
	b.note(t, now)
}

// swap charges for what a task holds instead. It needs b.mu.
func (b *Book) swap(old, t Task, now time.Time) {
	for _, c := range old.Holds {
		b.account(old.Tenant, c.Type, now).change(b.decay, now, -c.Amount)
	}
	for _, c := range t.Holds {
		b.account(t.Tenant, c.Type, now).change(b.decay, now, c.Amount)
	}
}

// End says that a task uses nothing any more, for good. It returns whose it was, ""
// where it used nothing before.
func (b *Book) End(uid string, now time.Time) (tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.mu.tasks[uid].Task
	b.swap(old, Task{}, b.pass(now))
	b.mu.tasks[uid] = task{ended: true}
	return old.Tenant
}

// Forget says that a pod is gone: it uses nothing, and is never told of again. It
// returns whose it was, as End does.
func (b *Book) Forget(uid string, now time.Time) (tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.mu.tasks[uid].Task
	b.swap(old, Task{}, b.pass(now))
	delete(b.mu.tasks, uid)
	return old.Tenant
}

// Weigh sets a tenant's weight.
func (b *Book) Weigh(tenant string, w Weight) error {
	if err := w.Check(); err != nil {
		return fmt.Errorf("tenant %s: %w", tenant, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tenant(tenant).weight = w
	return nil
}

// Rank returns a tenant's score per weight in what counts for a type (TypeOf), for
// AnyGPU and "A|B" the sum: the smaller, the sooner its turn.
func (b *Book) Rank(tenant string, t Type, now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
	who, ok := b.mu.tenants[tenant]
	if !ok {
		return 0
	}
	if a, ok := who.accounts[t]; ok && t != AnyGPU {
		return a.at(b.decay, now).Score / float64(who.weight)
	}
	sum := 0.
	for _, used := range slices.Sorted(maps.Keys(who.accounts)) {
		if t.Counts(used) {
			sum += who.accounts[used].at(b.decay, now).Score
		}
	}
	return sum / float64(who.weight)
}

// pass returns the book's time after it was told one. It needs b.mu.
func (b *Book) pass(now time.Time) time.Time {
	if now.After(b.mu.now) {
		b.mu.now = now
	}
	return b.mu.now
}

// tenant returns what is known of a tenant. It needs b.mu.
func (b *Book) tenant(name string) *tenant {
	who, ok := b.mu.tenants[name]
	if !ok {
		who = &tenant{weight: DefaultWeight, accounts: map[Type]*account{}}
		b.mu.tenants[name] = who
	}
	return who
}

// account returns a tenant's account, of which the first is opened now. It needs b.mu.
func (b *Book) account(name string, t Type, now time.Time) *account {
	who := b.tenant(name)
	a, ok := who.accounts[t]
	if !ok {
		a = &account{Account: Account{Type: t, Time: now}}
		who.accounts[t] = a
	}
	return a
}

package fairshare

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Task is a pod that holds resources: it is bound or running.
type Task struct {
	UID    string
	Tenant string
	Since  time.Time // when it started; zero means now
	Holds  []Charge  // what it holds; the book keeps the slice
}

// Book keeps the accounts of all tenants. Its methods are safe for concurrent use. Each costs O(1) for a
// tenant with few types, except Complete and Tenants.
//
// Invariants:
//
//   - A pod is charged once, by its UID, from the first Start to the first End. A repeated call
//     changes nothing, and neither does a Start after End.
//   - Time never goes back: a call with an earlier time counts as of the latest. So no time is charged
//     twice, and clocks that differ do not lower a score.
//   - A task is charged from its Since on, even if Start is called later.
type Book struct {
	decay Decay

	mu struct {
		sync.Mutex
		now     time.Time // latest time of any call
		tenants map[string]*tenant
		tasks   map[string]task // by UID
	}
}

// task is a Task that was started. An ended one is kept until Forget, so that a late Start has no effect.
type task struct {
	Task
	ended bool
}

// tenant is a tenant's weight, its accounts and its newest tasks.
type tenant struct {
	weight   Weight
	accounts map[Type]*account
	recent   []string // UIDs of tasks that may have started within Margin, oldest Start first
}

// New returns an empty book.
func New(d Decay) *Book {
	b := &Book{decay: d}
	b.mu.tenants, b.mu.tasks = map[string]*tenant{}, map[string]task{}
	return b
}

// Start charges a task from its Since on. If the task was started before, its new amounts or tenant
// count from now on.
func (b *Book) Start(t Task, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	known, ok := b.mu.tasks[t.UID]
	if t.Since.IsZero() {
		t.Since = now
	}
	switch {
	case known.ended:
		return
	case ok:
		b.recharge(known.Task, t, now)
		t.Since = known.Since
	default:
		b.begin(t, now)
	}
	b.mu.tasks[t.UID] = task{Task: t}
}

// begin charges a task that was not known. It needs b.mu.
func (b *Book) begin(task Task, now time.Time) {
	for _, c := range task.Holds {
		b.account(task.Tenant, c.Type, now).start(b.decay, now, task.Since, c.Amount)
	}
	b.trackRecent(task, now)
}

// recharge replaces what a task holds, from now on. It needs b.mu.
func (b *Book) recharge(old, t Task, now time.Time) {
	for _, c := range old.Holds {
		b.account(old.Tenant, c.Type, now).change(b.decay, now, -c.Amount)
	}
	for _, c := range t.Holds {
		b.account(t.Tenant, c.Type, now).change(b.decay, now, c.Amount)
	}
}

// End ends a task permanently. It returns the task's tenant, or "" if the task held nothing.
func (b *Book) End(uid string, now time.Time) (tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.mu.tasks[uid].Task
	b.recharge(old, Task{}, b.advance(now))
	b.mu.tasks[uid] = task{ended: true}
	return old.Tenant
}

// Forget ends a task and drops its UID, which must not be used again. It returns the tenant as End does.
func (b *Book) Forget(uid string, now time.Time) (tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.mu.tasks[uid].Task
	b.recharge(old, Task{}, b.advance(now))
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

// Rank returns a tenant's order among those that wait for a type (TypeOf), lowest first:
//
//	Σ score(u) / weight over the used types u that count for t
//
// It is 0 for an unknown tenant.
func (b *Book) Rank(tenant string, t Type, now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	owner, ok := b.mu.tenants[tenant]
	if !ok {
		return 0
	}
	if a, ok := owner.accounts[t]; ok && t != AnyGPU {
		return a.at(b.decay, now).Score / float64(owner.weight)
	}
	sum := 0.
	for _, used := range slices.Sorted(maps.Keys(owner.accounts)) {
		if t.Counts(used) {
			sum += owner.accounts[used].at(b.decay, now).Score
		}
	}
	return sum / float64(owner.weight)
}

// advance moves the book's time on to now if that is later, and returns it. It needs b.mu.
func (b *Book) advance(now time.Time) time.Time {
	if now.After(b.mu.now) {
		b.mu.now = now
	}
	return b.mu.now
}

// tenant returns a tenant, which it creates if needed. It needs b.mu.
func (b *Book) tenant(name string) *tenant {
	t, ok := b.mu.tenants[name]
	if !ok {
		t = &tenant{weight: DefaultWeight, accounts: map[Type]*account{}}
		b.mu.tenants[name] = t
	}
	return t
}

// account returns a tenant's account, which it opens at now if needed. It needs b.mu.
func (b *Book) account(name string, t Type, now time.Time) *account {
	owner := b.tenant(name)
	a, ok := owner.accounts[t]
	if !ok {
		a = &account{Account: Account{Type: t, Time: now}}
		owner.accounts[t] = a
	}
	return a
}

package fairshare

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Task is a bound or running pod. Its tenant is charged for the resources that it holds.
type Task struct {
	UID    string
	Tenant string
	Since  time.Time // when it started; zero means the time of the call of Start
	Holds  []Charge  // the amounts that it holds; the book keeps this slice, so the caller must not change it
}

// Book keeps the accounts of all tenants. Its methods are safe for concurrent use. Complete, Prune
// and Tenants visit all tenants. All other methods take O(1) time on average for a tenant with few
// types of resource, except that Stored also visits the tenant's newest tasks.
//
// Invariants:
//
//   - A task is charged once: from the time Task.Since, even if Start is called later, until the
//     first call of End with the task's UID. A second call of Start with the same UID, tenant and
//     amounts changes nothing. A call of Start after a call of End with the same UID also changes
//     nothing.
//   - The book's time never goes back: if a call has an earlier time than a call before it, the
//     latest time of all calls so far is used instead. So no time is charged twice, and a clock
//     that was set back cannot lower a score.
type Book struct {
	decay Decay

	mu struct {
		sync.Mutex
		now     time.Time // latest time that was passed to any method
		tenants map[string]*tenant
		tasks   map[string]task // by UID
	}
}

// task is a Task for which Start or End was called. After a call of End, the book keeps the task
// until Forget is called, so that a late call of Start has no effect.
type task struct {
	Task
	ended bool
}

// tenant has a tenant's weight, accounts and newest tasks.
type tenant struct {
	weight   Weight
	accounts map[Type]*account
	recent   []string // UIDs of the newest tasks, in the order of the calls of Start: all tasks that are younger than Margin (a few seconds), and maybe older ones; Stored reads the list to leave the tasks younger than Margin out of the accounts
}

// New returns an empty book. The decay d says how fast scores follow usage.
func New(d Decay) *Book {
	b := &Book{decay: d}
	b.mu.tenants, b.mu.tasks = map[string]*tenant{}, map[string]task{}
	return b
}

// Start charges the tenant of a task from t.Since on. If Start was called with the same UID before,
// the new amounts and the new tenant replace the earlier ones at the time `now`.
func (b *Book) Start(t Task, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start(t, b.advance(now))
}

// start does the work of Start. The caller must hold b.mu.
func (b *Book) start(t Task, now time.Time) {
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

// begin charges a task for which Start was not called before. The caller must hold b.mu.
func (b *Book) begin(task Task, now time.Time) {
	for _, c := range task.Holds {
		b.account(task.Tenant, c.Type, now).start(b.decay, now, task.Since, c.Amount)
	}
	b.trackRecent(task, now)
}

// recharge ends the charge for old.Holds, and begins the charge for t.Holds, at the time `now`. The
// caller must hold b.mu.
func (b *Book) recharge(old, t Task, now time.Time) {
	for _, c := range old.Holds {
		b.account(old.Tenant, c.Type, now).change(b.decay, now, -c.Amount)
	}
	for _, c := range t.Holds {
		b.account(t.Tenant, c.Type, now).change(b.decay, now, c.Amount)
	}
}

// End ends the charge for a task. After that, a call of Start for a task with the same UID has no
// effect. End returns the task's tenant. If Start was not called for the task, or the task has
// already ended, it returns "".
func (b *Book) End(uid string, now time.Time) (tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.mu.tasks[uid].Task
	b.recharge(old, Task{}, b.advance(now))
	b.mu.tasks[uid] = task{ended: true}
	return old.Tenant
}

// Forget ends the charge for a task and removes all data about the task. The UID must not be used
// again. Forget returns the task's tenant, as End does.
func (b *Book) Forget(uid string, now time.Time) (tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.mu.tasks[uid].Task
	b.recharge(old, Task{}, b.advance(now))
	delete(b.mu.tasks, uid)
	return old.Tenant
}

// Weigh sets a tenant's weight. It returns an error if the weight is invalid.
func (b *Book) Weigh(tenant string, w Weight) error {
	if err := w.Check(); err != nil {
		return fmt.Errorf("tenant %s: %w", tenant, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tenant(tenant).weight = w
	return nil
}

// Rank returns the value by which the queue orders the tenants whose pods wait for the resource
// type t. The tenant with the lowest value comes first. The value is
//
//	Σ score(u) / weight
//
// The sum is over those types u of the tenant's accounts that count for t (Type.Counts). The type
// t itself always counts. For a list of types, such as "T4|V100", the types in the list count
// too. For AnyGPU, all types except CPU count. For parts of GPUs of any model, such as "SHARED",
// the types of these parts for each model count too, such as "T4-SHARED". For an unknown tenant,
// Rank returns 0.
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

// advance sets the book's time to `now` if `now` is later, and returns the book's time. The caller
// must hold b.mu.
func (b *Book) advance(now time.Time) time.Time {
	if now.After(b.mu.now) {
		b.mu.now = now
	}
	return b.mu.now
}

// tenant returns the tenant with the given name. It creates the tenant if it does not exist. The
// caller must hold b.mu.
func (b *Book) tenant(name string) *tenant {
	t, ok := b.mu.tenants[name]
	if !ok {
		t = &tenant{weight: DefaultWeight, accounts: map[Type]*account{}}
		b.mu.tenants[name] = t
	}
	return t
}

// account returns a tenant's account for a type of resource. It creates the account if it does not
// exist. The caller must hold b.mu.
func (b *Book) account(name string, t Type, now time.Time) *account {
	owner := b.tenant(name)
	a, ok := owner.accounts[t]
	if !ok {
		a = &account{Account: Account{Type: t, Time: now}}
		owner.accounts[t] = a
	}
	return a
}

package tenants

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Ledger has the accounts (usage and scores) of all tenants. Until Open is called, it only records
// which tasks run. A task is a pod or a reservation for which a tenant is charged. A replica opens
// the ledger when it becomes the leader: it first restores the stored accounts, and then charges
// the tenants for the running tasks. A standby replica cannot do this earlier, because the leader
// still changes the stored accounts, so restored accounts would soon be out of date. Any goroutine
// may call the methods.
type Ledger struct {
	now     func() time.Time
	rescore func(tenant string)
	decay   fairshare.Decay
	book    atomic.Pointer[fairshare.Book] // nil until Open

	mu struct {
		sync.Mutex
		running map[string]fairshare.Task // by UID; nil once the ledger is open
	}
}

// NewLedger returns a ledger without tasks, which is not open yet. The parameter d says how fast
// scores decay.
func NewLedger(d fairshare.Decay, now func() time.Time) *Ledger {
	l := &Ledger{now: now, rescore: func(string) {}, decay: d}
	l.mu.running = map[string]fairshare.Task{}
	return l
}

// OnRescore sets a function that is called with a tenant when the tenant's score or weight changes
// for any reason other than time. The function may call Rank. OnRescore must be called before the
// first such change.
func (l *Ledger) OnRescore(f func(tenant string)) { l.rescore = f }

// Open restores the stored accounts, and charges the tenants for the running tasks. Before the
// call, Start must have been called for all running tasks. Open may be called only once. The error
// names the accounts that could not be read and the Tenants whose weight is invalid. If an account
// could not be read, its score is computed from the running tasks. A Tenant whose weight is invalid
// gets the default weight.
func (l *Ledger) Open(stored []v1alpha1.Tenant) error {
	now, book := l.now(), fairshare.New(l.decay)
	var errs []error
	for _, t := range stored {
		errs = append(errs, weigh(book, t.Name, t.Spec))
		for _, written := range t.Status.Accounts {
			errs = append(errs, restore(book, t.Name, written, now))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	book.Complete(slices.Collect(maps.Values(l.mu.running)), now)
	l.mu.running = nil
	l.book.Store(book)
	return errors.Join(errs...)
}

func weigh(book *fairshare.Book, name string, spec v1alpha1.TenantSpec) error {
	w, err := Weight(spec)
	if err != nil {
		return fmt.Errorf("tenant %s: %w", name, err)
	}
	return book.Weigh(name, w)
}

func restore(book *fairshare.Book, name string, written v1alpha1.Account, now time.Time) error {
	a, err := Read(written)
	if err != nil {
		return fmt.Errorf("tenant %s: %w", name, err)
	}
	return book.Restore(name, a, now)
}

// Observe charges tenants for what their bound pods hold. It is a subscriber of the state
// of the nodes.
func (l *Ledger) Observe(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Bound:
		if !event.Now.SameCharges(event.Was) {
			l.charge(event.Now, event.Node)
		}
	case nodestate.NodeChanged:
		for a := range event.Entry.Assignments() {
			if a.Bound && a.HasGPUs() && event.Node != nil {
				l.charge(a, event.Node)
			}
		}
	case nodestate.Released:
		if event.Gone {
			l.Forget(event.UID)
		} else {
			l.End(event.UID)
		}
	}
}

func (l *Ledger) charge(assignment *nodestate.Assignment, node *sched.Node) {
	l.Start(fairshare.Task{UID: assignment.UID, Tenant: assignment.Tenant, Since: assignment.Since, Holds: assignment.Charges(node)})
}

// Start adds a task, or changes what a running task holds.
func (l *Ledger) Start(t fairshare.Task) {
	if l.note(func(running map[string]fairshare.Task) { running[t.UID] = t }) {
		return
	}
	l.book.Load().Start(t, l.now())
	l.rescore(t.Tenant)
}

// End ends the charge for a task, for example when its pod has ended but still exists.
func (l *Ledger) End(uid string) { l.end(uid, (*fairshare.Book).End) }

// Forget ends the charge for a task and removes all data about the task, for example when its pod
// was deleted.
func (l *Ledger) Forget(uid string) { l.end(uid, (*fairshare.Book).Forget) }

func (l *Ledger) end(uid string, end func(*fairshare.Book, string, time.Time) string) {
	if l.note(func(running map[string]fairshare.Task) { delete(running, uid) }) {
		return
	}
	if whose := end(l.book.Load(), uid, l.now()); whose != "" {
		l.rescore(whose)
	}
}

// note applies a change to the set of running tasks, and returns true. Open will charge the tenants
// for these tasks. Once the ledger is open, note does nothing and returns false: the caller then
// changes the accounts itself.
func (l *Ledger) note(change func(map[string]fairshare.Task)) bool {
	if l.book.Load() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.running == nil {
		return false
	}
	change(l.mu.running)
	return true
}

// Rank returns the sum of a tenant's scores for a resource type and the types that it includes
// (fairshare.Type.Counts), divided by the tenant's weight. The queue orders pods by this number
// (queue.Env). Rank returns 0 until the ledger is open.
func (l *Ledger) Rank(tenant string, resourceType fairshare.Type) float64 {
	if book := l.book.Load(); book != nil {
		return book.Rank(tenant, resourceType, l.now())
	}
	return 0
}

// weigh sets a tenant's weight.
func (l *Ledger) weigh(name string, spec v1alpha1.TenantSpec) error {
	if err := weigh(l.book.Load(), name, spec); err != nil {
		return err
	}
	l.rescore(name)
	return nil
}

// Prune removes accounts without usage from the ledger if their score is negligible. Then it
// removes tenants that have the default weight and no accounts.
func (l *Ledger) Prune() {
	if book := l.book.Load(); book != nil {
		book.Prune(l.now())
	}
}

// Each calls f with the current usage and score in each account of each tenant. It does nothing
// until the ledger is open.
func (l *Ledger) Each(f func(tenant string, account fairshare.Account)) {
	book := l.book.Load()
	if book == nil {
		return
	}
	now := l.now()
	for _, name := range book.Tenants() {
		for _, a := range book.Accounts(name, now) {
			f(name, a)
		}
	}
}

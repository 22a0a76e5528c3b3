package tenants

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Env is what a ledger needs of the world. Rescore is told whose score changed
// otherwise than by time, and may ask the ledger for it.
type Env struct {
	Now     func() time.Time
	Rescore func(tenant string)
}

// Ledger is the accounts of all tenants. Until it is opened it only knows which
// tasks run: who stands by must not go on from what a leader stored long ago, and
// accounts are restored before tasks are charged. Its methods may be called from any
// goroutine.
type Ledger struct {
	env   Env
	decay fairshare.Decay
	book  atomic.Pointer[fairshare.Book] // nil until it is open

	mu struct {
		sync.Mutex
		running map[string]fairshare.Task // by UID; nil once it is open
	}
}

// NewLedger returns a ledger that is not open, and knows no task.
func NewLedger(d fairshare.Decay, env Env) *Ledger {
	l := &Ledger{env: env, decay: d}
	l.mu.running = map[string]fairshare.Task{}
	return l
}

// Open restores what is stored of tenants and charges the tasks that run, which have
// to be all. It is called once. An error says what of the stored could not be read;
// those scores are made anew from what runs.
func (l *Ledger) Open(stored []v1alpha1.Tenant) error {
	now, book := l.env.Now(), fairshare.New(l.decay)
	var errs []error
	for _, t := range stored {
		errs = append(errs, weigh(book, t.Name, t.Spec))
		for _, written := range t.Status.Accounts {
			errs = append(errs, restore(book, t.Name, written, now))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, task := range l.mu.running {
		book.Start(task, now)
	}
	book.Complete(now)
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

// Observe charges tenants for what their bound pods hold. It is a subscriber of the
// state of the cluster.
func (l *Ledger) Observe(e nodestate.Event) {
	switch e.Kind {
	case nodestate.Assigned:
		if e.Now.Bound && !e.Now.SameCharges(e.Was) {
			l.charge(e.Now, e.Node)
		}
	case nodestate.NodeChanged:
		for a := range e.Entry.Assignments() {
			if a.Bound && a.HasGPUs() && e.Node != nil {
				l.charge(a, e.Node)
			}
		}
	case nodestate.Released:
		if e.Gone {
			l.Forget(e.UID)
		} else {
			l.End(e.UID)
		}
	}
}

func (l *Ledger) charge(a *nodestate.Assignment, node *sched.Node) {
	l.Start(fairshare.Task{UID: a.UID, Tenant: a.Tenant, Since: a.Since, Holds: a.Charges(node)})
}

// Start says that a task uses something, or something else.
func (l *Ledger) Start(t fairshare.Task) {
	if l.note(func(running map[string]fairshare.Task) { running[t.UID] = t }) {
		return
	}
	l.book.Load().Start(t, l.env.Now())
	l.env.Rescore(t.Tenant)
}

// End says that a task uses nothing any more, for good.
func (l *Ledger) End(uid string) { l.end(uid, (*fairshare.Book).End) }

// Forget says that a pod is gone.
func (l *Ledger) Forget(uid string) { l.end(uid, (*fairshare.Book).Forget) }

func (l *Ledger) end(uid string, end func(*fairshare.Book, string, time.Time) string) {
	if l.note(func(running map[string]fairshare.Task) { delete(running, uid) }) {
		return
	}
	if whose := end(l.book.Load(), uid, l.env.Now()); whose != "" {
		l.env.Rescore(whose)
	}
}

// note changes what is known of tasks until the ledger is open, and is false then.
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

// Rank is a tenant's score per weight now, for queue.Env; 0 until the ledger is open.
func (l *Ledger) Rank(tenant string, t fairshare.Type) float64 {
	if book := l.book.Load(); book != nil {
		return book.Rank(tenant, t, l.env.Now())
	}
	return 0
}

// weigh sets a tenant's weight.
func (l *Ledger) weigh(name string, spec v1alpha1.TenantSpec) error {
	if err := weigh(l.book.Load(), name, spec); err != nil {
		return err
	}
	l.env.Rescore(name)
	return nil
}

// Each calls f with each account of each tenant as it is now.
func (l *Ledger) Each(f func(tenant string, a fairshare.Account)) {
	book := l.book.Load()
	if book == nil {
		return
	}
	now := l.env.Now()
	for _, name := range book.Tenants() {
		for _, a := range book.Accounts(name, now) {
			f(name, a)
		}
	}
}

package fairshare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Accounts returns a tenant's accounts with their scores at the time `now`, sorted by type. Use it
// only to show accounts to users. To store accounts, use Stored instead.
func (b *Book) Accounts(tenant string, now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	return b.accounts(tenant, now)
}

// accounts does the work of Accounts. The caller must hold b.mu.
func (b *Book) accounts(tenant string, now time.Time) []Account {
	owner, ok := b.mu.tenants[tenant]
	if !ok {
		return nil
	}
	var accounts []Account
	for _, t := range slices.Sorted(maps.Keys(owner.accounts)) {
		accounts = append(accounts, owner.accounts[t].at(b.decay, now))
	}
	return accounts
}

// Margin is the age below which Stored leaves a task out of the accounts. It allows for three
// errors. The writer of the accounts may learn of a task late. Start times have a resolution of one
// second. And start times may be from a clock that is behind the writer's clock. If the sum of
// these errors is less than Margin, a program that restores stored accounts can tell from a task's
// start time alone whether the accounts include the task. The comment of Complete says what happens
// otherwise.
const Margin = 5 * time.Second

// Stored returns a tenant's accounts with their scores at the time `now`, sorted by type, for the
// caller to store. It leaves out tasks that are younger than Margin. A tenant's score is the sum of
// the scores that the tenant would have with each of its tasks alone. So for each task that it
// leaves out, Stored subtracts the score with this task alone (T is the time constant):
//
//	amount · (1 − e^(−(now − since)/T))
//
// If the caller stores Account.Score with all digits, and Account.Time at least in microseconds,
// restored scores differ from the original scores by at most 1e-9.
func (b *Book) Stored(tenant string, now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	accounts := b.accounts(tenant, now)
	for _, t := range b.recent(tenant, now) {
		for i, a := range accounts {
			for _, c := range t.Holds {
				if c.Type == a.Type {
					accounts[i].Usage -= c.Amount
					accounts[i].Score = max(0, accounts[i].Score-b.decay.Next(0, c.Amount.float(), max(0, now.Sub(t.Since).Seconds())))
				}
			}
		}
	}
	return accounts
}

// recent returns the tasks of a tenant that have not ended and are younger than Margin. The caller
// must hold b.mu.
func (b *Book) recent(tenant string, now time.Time) []task {
	var tasks []task
	if owner, ok := b.mu.tenants[tenant]; ok {
		for _, uid := range owner.recent {
			if t := b.mu.tasks[uid]; t.Tenant == tenant && t.recentAt(now) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// recentAt reports whether a task has not ended and is younger than Margin.
func (t task) recentAt(now time.Time) bool { return !t.ended && t.Since.After(now.Add(-Margin)) }

// trackRecent adds a task to the list tenant.recent of its tenant if the task is younger than
// Margin. It also removes the tasks at the front of this list that have ended or reached the age
// Margin. The caller must hold b.mu.
func (b *Book) trackRecent(t Task, now time.Time) {
	owner := b.tenant(t.Tenant)
	for len(owner.recent) > 0 && !b.mu.tasks[owner.recent[0]].recentAt(now) {
		owner.recent = owner.recent[1:]
	}
	if (task{Task: t}).recentAt(now) {
		owner.recent = append(owner.recent, t.UID)
	}
}

// Tenants returns the sorted names of all tenants in the book. These are the tenants that have an
// account, or whose weight was set.
func (b *Book) Tenants() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.mu.tenants))
}

// Restore creates an account with the state that Stored returned before a restart. After all calls
// of Restore, Complete must be called once, and Start only after that. The stored usage is charged
// until Complete is called. If stored.Time is after `now`, for example because the clock of
// another machine was ahead, the score counts as that of the time `now`.
func (b *Book) Restore(tenant string, stored Account, now time.Time) error {
	if stored.Usage < 0 || !(stored.Score >= 0) || math.IsInf(stored.Score, 1) {
		return fmt.Errorf("tenant %s: stored account of %s has usage %d and score %v: want 0 or more; without it the score is made anew from what runs",
			tenant, stored.Type, stored.Usage, stored.Score)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	through := stored.Time.Add(-Margin) // the stored usage does not include tasks that started after this time; this is so even if stored.Time is after `now`
	if stored.Time.After(now) {
		stored.Time = now
	}
	owner := b.tenant(tenant)
	if owner.accounts[stored.Type] != nil {
		return fmt.Errorf("tenant %s: account of %s is open already: restore accounts once, before tasks start", tenant, stored.Type)
	}
	owner.accounts[stored.Type] = &account{Account: stored, carried: stored.Usage, through: through}
	return nil
}

// Complete ends the restoring of accounts after a restart. It charges tenants for all running tasks
// as Start does. If a restored account already includes a task, the task's time before the account
// was stored is not charged again. Restored usage that belongs to no running task is that of tasks
// that have ended, so Complete ends the charge for this usage. Complete visits all accounts.
//
// It is not stored which tasks an account includes. Complete assigns the restored usage to tasks
// that, by their start times, started at least Margin before the account was stored, the oldest
// first. If the start times have the order in which the tasks started, the tasks that the account
// includes are the oldest, so none of them is charged twice. This holds even if the clock of the
// start times differs from the clock of the program that stored the accounts.
//
// One error is possible. If the clock of the start times is behind, a task that started after the
// account was stored may seem to be older than it is. Complete may then assign to this task the
// amount of a task that the account includes, but that has ended. The score is wrong by at most the
// charge for this amount from the time at which the account was stored until the time `now`.
func (b *Book) Complete(running []Task, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	for _, t := range oldestFirst(running, now) {
		b.start(t, now)
	}
	for _, owner := range b.mu.tenants {
		for _, a := range owner.accounts {
			a.complete(b.decay, now)
		}
	}
}

// oldestFirst returns tasks sorted by start time, and by UID if start times are equal. In the
// result, tasks without a start time have the start time `now`.
func oldestFirst(tasks []Task, now time.Time) []Task {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		if tasks[i].Since.IsZero() {
			tasks[i].Since = now
		}
	}
	slices.SortFunc(tasks, func(a, b Task) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.UID, b.UID)) })
	return tasks
}

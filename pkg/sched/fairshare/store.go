package fairshare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Accounts returns a tenant's accounts, by type, as they are at a time: what to show.
func (b *Book) Accounts(tenant string, now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
	return b.accounts(tenant, now)
}

// accounts needs b.mu.
func (b *Book) accounts(tenant string, now time.Time) []Account {
	who, ok := b.mu.tenants[tenant]
	if !ok {
		return nil
	}
	var accounts []Account
	for _, t := range slices.Sorted(maps.Keys(who.accounts)) {
		accounts = append(accounts, who.accounts[t].at(b.decay, now))
	}
	return accounts
}

// Margin is how far behind stored accounts are in tasks that begin: one that has
// begun less than that before, as it says itself, is not in them yet. So whoever
// goes on from them knows of each task whether it is, though news of tasks come
// late, and when they began is known to the second only.
const Margin = 5 * time.Second

// Stored returns a tenant's accounts, by type, as they are at a time but without
// tasks that began within Margin: what to store. Score wants all of its digits, and
// Time those to the microsecond at least, for it to be the same to 1e-9 after a
// restart. Scores being linear, what such a task has made of one by itself comes off:
//
//	amount · (1 − e^(−running time/T))
func (b *Book) Stored(tenant string, now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
	accounts := b.accounts(tenant, now)
	for _, t := range b.young(tenant, now) {
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

// young returns the tasks of a tenant that began within Margin. It needs b.mu.
func (b *Book) young(tenant string, now time.Time) []task {
	var tasks []task
	if who, ok := b.mu.tenants[tenant]; ok {
		for _, uid := range who.young {
			if t := b.mu.tasks[uid]; t.Tenant == tenant && t.youngAt(now) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// youngAt reports whether a task that has not ended began within Margin.
func (t task) youngAt(now time.Time) bool { return !t.ended && t.Since.After(now.Add(-Margin)) }

// note keeps in mind that a task may have begun within Margin, and of others that
// they have not. It needs b.mu.
func (b *Book) note(t Task, now time.Time) {
	who := b.tenant(t.Tenant)
	for len(who.young) > 0 && !b.mu.tasks[who.young[0]].youngAt(now) {
		who.young = who.young[1:]
	}
	if (task{Task: t}).youngAt(now) {
		who.young = append(who.young, t.UID)
	}
}

// Tenants returns the names of all tenants with an account or a weight, sorted.
func (b *Book) Tenants() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.mu.tenants))
}

// Restore takes up a stored account, before any task of its tenant starts. What it
// says is in use counts until Complete, whose tasks ever they are: Start charges one
// that may be among them for no time past. A time ahead of now, by another machine's
// clock, counts as now.
func (b *Book) Restore(tenant string, stored Account, now time.Time) error {
	if stored.Usage < 0 || !(stored.Score >= 0) || math.IsInf(stored.Score, 1) {
		return fmt.Errorf("tenant %s: stored account of %s has usage %d and score %v: want 0 or more; without it the score is made anew from what runs",
			tenant, stored.Type, stored.Usage, stored.Score)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
	if stored.Time.After(now) {
		stored.Time = now
	}
	who := b.tenant(tenant)
	if who.accounts[stored.Type] != nil {
		return fmt.Errorf("tenant %s: account of %s is open already: restore accounts once, before tasks start", tenant, stored.Type)
	}
	who.accounts[stored.Type] = &account{Account: stored, carried: stored.Usage, through: stored.Time.Add(-Margin)}
	return nil
}

// Complete says that all tasks that run have been told since the accounts were
// restored: what of the stored usage is nobody's has ended. It costs O(accounts).
func (b *Book) Complete(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
	for _, who := range b.mu.tenants {
		for _, a := range who.accounts {
			a.complete(b.decay, now)
		}
	}
}

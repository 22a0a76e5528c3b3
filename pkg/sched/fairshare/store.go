package fairshare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Accounts returns a tenant's accounts at a time, sorted by type. It is for messages to users;
// Stored returns what has to be stored.
func (b *Book) Accounts(tenant string, now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	return b.accounts(tenant, now)
}

// accounts does the work of Accounts. It needs b.mu.
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

// Margin is the age below which a task is left out of stored accounts. A program that restores these
// accounts can tell from a task's start time alone whether the task is included. This works although
// the writer of the accounts may learn of a task late, and although start times have a resolution of
// one second.
const Margin = 5 * time.Second

// Stored returns a tenant's accounts at a time, sorted by type, for the caller to store. It leaves
// out tasks that are younger than Margin. Because scores are linear, it subtracts the score that
// such a task would have alone:
//
//	amount · (1 − e^(−(now − since)/T))
//
// If Score is stored with all digits, and Time at least in microseconds, restored scores differ from
// the original ones by at most 1e-9.
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

// recent returns the tasks of a tenant that are younger than Margin. It needs b.mu.
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

// trackRecent adds a task to the list recent of its tenant if the task is younger than Margin. It
// removes older tasks from the front of the list. It needs b.mu.
func (b *Book) trackRecent(t Task, now time.Time) {
	owner := b.tenant(t.Tenant)
	for len(owner.recent) > 0 && !b.mu.tasks[owner.recent[0]].recentAt(now) {
		owner.recent = owner.recent[1:]
	}
	if (task{Task: t}).recentAt(now) {
		owner.recent = append(owner.recent, t.UID)
	}
}

// Tenants returns the sorted names of all tenants that have an account or a weight.
func (b *Book) Tenants() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.mu.tenants))
}

// Restore creates an account with its stored state. Call it before Start is called for the first
// task of the tenant. The stored usage is charged until Complete is called. If a task may be
// included in the stored usage, Start does not charge the task for the time before. If the stored
// time is after now, because another machine's clock was ahead, it counts as now.
func (b *Book) Restore(tenant string, stored Account, now time.Time) error {
	if stored.Usage < 0 || !(stored.Score >= 0) || math.IsInf(stored.Score, 1) {
		return fmt.Errorf("tenant %s: stored account of %s has usage %d and score %v: want 0 or more; without it the score is made anew from what runs",
			tenant, stored.Type, stored.Usage, stored.Score)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	if stored.Time.After(now) {
		stored.Time = now
	}
	owner := b.tenant(tenant)
	if owner.accounts[stored.Type] != nil {
		return fmt.Errorf("tenant %s: account of %s is open already: restore accounts once, before tasks start", tenant, stored.Type)
	}
	owner.accounts[stored.Type] = &account{Account: stored, carried: stored.Usage, through: stored.Time.Add(-Margin)}
	return nil
}

// Complete ends the charge for the part of the stored usage for which Start was not called, because
// the tasks of this part have ended. Call it after Start was called for all running tasks. It visits
// all accounts.
func (b *Book) Complete(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	for _, owner := range b.mu.tenants {
		for _, a := range owner.accounts {
			a.complete(b.decay, now)
		}
	}
}

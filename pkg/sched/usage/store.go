package usage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Accounts returns a tenant's accounts, by type, as they are at a time: what to
// show, and what to store. A stored Score wants all of its digits, and Time those to
// the microsecond at least, for it to be the same to 1e-9 after a restart.
func (b *Book) Accounts(tenant string, now time.Time) []Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.pass(now)
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
	who.accounts[stored.Type] = &account{Account: stored, carried: stored.Usage, stored: stored.Time}
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

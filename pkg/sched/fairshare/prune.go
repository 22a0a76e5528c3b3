package fairshare

import (
	"maps"
	"time"
)

// negligible is the score, in cores or GPUs, below which an unused account is forgotten.
// With the default decay, one core that was held for ten minutes has this score after two and a
// half days.
const negligible = 1e-3

// Prune forgets accounts that are not used and whose score is negligible, and tenants without
// accounts. Without Prune, the book and its metrics would grow without limit, because anybody
// can invent tenants in namespaces or labels. A tenant with a weight of its own is kept.
// O(accounts).
func (b *Book) Prune(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.advance(now)
	for name, owner := range b.mu.tenants {
		maps.DeleteFunc(owner.accounts, func(_ Type, a *account) bool {
			return a.Usage == 0 && a.at(b.decay, now).Score < negligible
		})
		if len(owner.accounts) == 0 && owner.weight == DefaultWeight && len(b.recent(name, now)) == 0 {
			delete(b.mu.tenants, name)
		}
	}
}

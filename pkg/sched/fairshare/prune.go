package fairshare

import (
	"maps"
	"time"
)

// negligible is the score, in cores or GPUs, below which Prune removes an account that is not
// used. With the default decay, the score of a tenant that has held one core for ten minutes
// falls to this value within two and a half days.
const negligible = 1e-3

// Prune removes accounts whose usage is 0 and whose score is negligible, and then tenants without
// accounts. It keeps tenants whose weight is not the default, and tenants with a running task that
// is younger than Margin. Without Prune, the book and its metrics would grow without limit, because
// users can create any number of tenants: each new Namespace, or each new value of the label that
// names a pod's tenant, can be a new tenant. Prune visits all accounts.
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

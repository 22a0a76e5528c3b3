package node

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Held is a grant and the pod that holds it.
type Held struct {
	Pod    workload.Pod `json:"pod"`
	Cgroup string       `json:"cgroup"`           // of the pod
	Static bool         `json:"static,omitempty"` // a static pod, which the API server may never have
	// Isolated means that interrupts and unbound workqueues stay off the CPUs.
	Isolated bool `json:"isolated,omitempty"`
	// Unconfirmed means that the container's spec is all that is known: see holdUnconfirmed.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Grant.UID is that of the pod, or key(pod, container) for a grant per container.
	Grant pool.Grant `json:"grant"`
	Homes pool.Homes `json:"homes,omitempty"` // where the grant's CPUs are, also those that went offline
}

// Snapshot is the content of the checkpoint.
type Snapshot struct {
	BootID string `json:"bootID"`
	Held   []Held `json:"held"`
}

// book is the ledger with the pods that hold its grants. Usually a pod has one grant
// for all its containers. If its spec is not known (a static pod without a mirror
// pod, or a running pod after the loss of the checkpoint), each container has a
// grant of its own, and containers do not reuse each other's CPUs.
type book struct {
	ledger *pool.Ledger
	held   map[string]Held // by Grant.UID
}

// key returns the UID of a grant per container. A pod's UID has no slash.
func key(uid, container string) string { return uid + "/" + container }

// reserve grants the request p and returns a function that undoes it.
func (b *book) reserve(h Held, p pool.Pod) (undo func(), err error) {
	if h.Grant, err = b.ledger.Reserve(p); err != nil {
		return nil, err
	}
	b.enter(h)
	return func() { b.dropGrant(p.UID) }, nil
}

// restore adds an existing grant.
func (b *book) restore(h Held) error {
	if err := b.ledger.Restore(h.Grant); err != nil {
		return err
	}
	b.enter(h)
	return nil
}

func (b *book) enter(h Held) {
	homes := b.ledger.Homes(h.Grant.CPUs())
	for id, cpus := range h.Homes {
		if kept := homes[id].Union(cpus.Intersect(h.Grant.CPUs())); !kept.Empty() {
			homes[id] = kept
		}
	}
	h.Homes = homes
	b.held[h.Grant.UID] = h
}

// replaceOffline gives a pod other CPUs for those that went offline, as far as some are
// free. It returns a function that undoes it, or nil if nothing has changed.
func (b *book) replaceOffline(uid string) (undo func()) {
	for _, before := range b.of(uid) {
		after, earlier := before, undo
		changed := false
		if after.Grant, changed = b.ledger.Replace(before.Grant.UID, before.Homes); !changed {
			continue
		}
		b.enter(after)
		undo = func() {
			if earlier != nil {
				earlier()
			}
			_ = b.restore(before) // its CPUs were not given to others meanwhile
		}
	}
	return undo
}

// claim returns the CPUs of a container.
func (b *book) claim(uid, container string) (pool.Claim, bool) {
	_, c, ok := b.holder(uid, container)
	return c, ok
}

// holder returns the grant with the claim of a container, and the claim.
func (b *book) holder(uid, container string) (Held, pool.Claim, bool) {
	for _, k := range []string{uid, key(uid, container)} {
		if h, ok := b.held[k]; ok {
			if c, ok := h.Grant.Claim(container); ok {
				return h, c, true
			}
		}
	}
	return Held{}, pool.Claim{}, false
}

// change changes a grant and returns a function that undoes it. If by fails, possibly after
// the first of its changes, the grant is as before.
func (b *book) change(before Held, by func(l *pool.Ledger, uid string) (pool.Grant, error)) (undo func(), err error) {
	undo = func() { _ = b.restore(before) } // its CPUs were not given to others meanwhile
	after := before
	if after.Grant, err = by(b.ledger, before.Grant.UID); err != nil {
		undo()
		return nil, err
	}
	b.enter(after)
	return undo, nil
}

// whole reports whether the pod has one grant for all its containers, so that a
// container without a claim is known to be shared.
func (b *book) whole(uid string) bool { _, ok := b.held[uid]; return ok }

// byContainer reports whether a container of the pod has a grant of its own.
func (b *book) byContainer(uid string) bool {
	for k := range b.held {
		if strings.HasPrefix(k, uid+"/") {
			return true
		}
	}
	return false
}

// of returns all grants of a pod.
func (b *book) of(uid string) []Held {
	var out []Held
	for _, h := range b.sorted() {
		if h.Pod.UID == uid {
			out = append(out, h)
		}
	}
	return out
}

// drop releases all grants of a pod and returns the CPUs that became free.
func (b *book) drop(uid string) cpuset.Set {
	var free cpuset.Set
	for _, h := range b.of(uid) {
		free = free.Union(b.dropGrant(h.Grant.UID))
	}
	return free
}

func (b *book) dropGrant(grantUID string) cpuset.Set {
	delete(b.held, grantUID)
	return b.ledger.Release(grantUID)
}

// sorted returns all grants, ordered by UID.
func (b *book) sorted() []Held {
	return slices.SortedFunc(maps.Values(b.held), func(x, y Held) int { return cmp.Compare(x.Grant.UID, y.Grant.UID) })
}

package node

import (
	"cmp"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Held is a grant of exclusive CPUs, and the pod that holds it.
type Held struct {
	Pod    workload.Pod `json:"pod"`
	Cgroup string       `json:"cgroup"`           // the path of the pod's own cgroup
	Static bool         `json:"static,omitempty"` // whether the pod is a static pod, which may have no mirror pod in the API server
	// Isolated means that interrupts and unbound workqueues are kept off the grant's CPUs.
	Isolated bool `json:"isolated,omitempty"`
	// Unconfirmed means that the agent does not know the pod's spec. In this case, the grant has
	// the CPUs that the OCI spec of a running container lists (see holdUnconfirmed).
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Grant.UID is the pod's UID if the pod has one grant for all its containers. If each
	// container of the pod has a grant of its own, Grant.UID is key(uid, container).
	Grant pool.Grant `json:"grant"`
	Homes pool.Homes `json:"homes,omitempty"` // the grant's CPUs by NUMA node, including CPUs that went offline
}

// Snapshot is the content of the checkpoint, the file with which the agent keeps the grants of
// exclusive CPUs across its restarts.
type Snapshot struct {
	BootID string `json:"bootID"`
	Held   []Held `json:"held"`
}

// book is the ledger of exclusive CPUs, with the pods that hold its grants. Usually a pod has one
// grant for all its containers, and containers reuse the CPUs of init containers that have ended.
// In two cases, each container of a pod has a grant of its own, and no container reuses CPUs. The
// first case is a static pod without a mirror pod, because the agent does not know the pod's spec.
// The second case is a pod that already ran when the agent lost the checkpoint file. The agent then
// reads from the OCI specs of the pod's containers which CPUs they have.
type book struct {
	ledger *pool.Ledger
	held   map[string]Held // by Grant.UID
}

// key returns the Grant.UID for a container that has a grant of its own. A Grant.UID with a slash
// cannot be the UID of a pod.
func key(uid, container string) string { return uid + "/" + container }

// reserve grants the pod of h the CPUs for the request p. It returns a function that undoes the
// grant. If the pod already has such a grant, reserve changes nothing, and there is nothing to undo.
func (b *book) reserve(h Held, p pool.Pod) (undo func(), err error) {
	if _, granted := b.held[p.UID]; granted {
		return func() {}, nil
	}
	if h.Grant, err = b.ledger.Reserve(p); err != nil {
		return nil, err
	}
	b.enter(h)
	return func() { b.dropGrant(p.UID) }, nil
}

// restore adds the grant h with the CPUs that h lists, or returns an error if the ledger cannot grant
// these CPUs.
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

// replaceOffline replaces the offline CPUs of a pod with free CPUs of the same NUMA node. If there
// are not enough free CPUs, the pod still holds some of the offline CPUs. replaceOffline returns a
// function that undoes the change, or nil if nothing has changed.
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
			_ = b.restore(before) // cannot fail: the CPUs have not been given to another pod meanwhile
		}
	}
	return undo
}

// claim returns the exclusive CPUs of a container, and whether the container has any.
func (b *book) claim(uid, container string) (pool.Claim, bool) {
	_, c, ok := b.holder(uid, container)
	return c, ok
}

// holder returns a container's claim, and the grant that contains it. A claim is the exclusive
// CPUs of one container.
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

// change changes a grant. The parameter `before` is the grant before the change, and the parameter
// `by` is the function that makes the change in the ledger. change returns a function that undoes
// the change. If `by` returns an error, change undoes what `by` has already changed.
func (b *book) change(before Held, by func(l *pool.Ledger, uid string) (pool.Grant, error)) (undo func(), err error) {
	undo = func() { _ = b.restore(before) } // cannot fail: the CPUs have not been given to another pod meanwhile
	after := before
	if after.Grant, err = by(b.ledger, before.Grant.UID); err != nil {
		undo()
		return nil, err
	}
	b.enter(after)
	return undo, nil
}

// whole reports whether the pod has one grant for all its containers. If such a grant has no CPUs
// for a container, the container runs on the shared CPUs.
func (b *book) whole(uid string) bool { _, ok := b.held[uid]; return ok }

// covers reports whether the grants say which CPUs a container gets. They do if the container has a
// claim, which is its exclusive CPUs, or if its pod has one grant for all its containers (see the
// method `whole`). In the second case, a container without a claim runs on the shared CPUs.
func (b *book) covers(uid, container string) bool {
	_, claimed := b.claim(uid, container)
	return claimed || b.whole(uid)
}

// byContainer reports whether a container of the pod has a grant of its own.
func (b *book) byContainer(uid string) bool {
	return slices.ContainsFunc(b.of(uid), func(h Held) bool { return h.Grant.UID != uid })
}

// The method `of` returns all grants of the pod with this UID.
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

// sorted returns all grants, ordered by Grant.UID.
func (b *book) sorted() []Held {
	return slices.SortedFunc(maps.Values(b.held), func(x, y Held) int { return cmp.Compare(x.Grant.UID, y.Grant.UID) })
}

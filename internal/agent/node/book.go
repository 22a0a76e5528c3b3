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

// Held is one grant and whom it was made to.
type Held struct {
	Pod    workload.Pod `json:"pod"`
	Cgroup string       `json:"cgroup"`           // of the pod
	Static bool         `json:"static,omitempty"` // a pod that the API server may never tell of
	// Grant's UID is the pod's, or key(pod, container) of a grant by container.
	Grant pool.Grant `json:"grant"`
}

// Snapshot is what has to survive a crash of the agent.
type Snapshot struct {
	BootID string `json:"bootID"`
	Held   []Held `json:"held"`
}

// book is the ledger together with the holders' names. As a rule a pod has one
// grant for all its containers. Where its spec is not known as a whole (a
// static pod without mirror pod, a pod found running after the checkpoint was
// lost) every container has a grant of its own, and nothing is reused.
type book struct {
	ledger *pool.Ledger
	held   map[string]Held // by Grant.UID
}

// key is the ledger's UID of a grant to one container. A pod's UID has no slash.
func key(uid, container string) string { return uid + "/" + container }

// reserve grants what p asks for and returns the undo.
func (b *book) reserve(h Held, p pool.Pod) (undo func(), err error) {
	if h.Grant, err = b.ledger.Reserve(p); err != nil {
		return nil, err
	}
	b.held[p.UID] = h
	return func() { b.dropGrant(p.UID) }, nil
}

// restore takes back a grant as it was held before.
func (b *book) restore(h Held) error {
	if err := b.ledger.Restore(h.Grant); err != nil {
		return err
	}
	b.held[h.Grant.UID] = h
	return nil
}

// claim returns what a container holds.
func (b *book) claim(uid, container string) (pool.Claim, bool) {
	for _, k := range []string{uid, key(uid, container)} {
		if h, ok := b.held[k]; ok {
			if c, ok := h.Grant.Claim(container); ok {
				return c, true
			}
		}
	}
	return pool.Claim{}, false
}

// whole reports whether the pod as a whole has a grant, so that a container
// without a claim is known to share.
func (b *book) whole(uid string) bool { _, ok := b.held[uid]; return ok }

// byContainer reports whether some container of the pod has a grant of its own.
func (b *book) byContainer(uid string) bool {
	for k := range b.held {
		if strings.HasPrefix(k, uid+"/") {
			return true
		}
	}
	return false
}

// of returns everything that the pod's containers hold.
func (b *book) of(uid string) []Held {
	var out []Held
	for _, h := range b.sorted() {
		if h.Pod.UID == uid {
			out = append(out, h)
		}
	}
	return out
}

// drop releases everything that the pod's containers hold, and returns the
// CPUs that became free.
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

package groups

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
)

const (
	// gather is how long news are gathered before they are looked at together.
	gather = 20 * time.Millisecond
	// again is how often rights are asked anew: nobody tells of a change of theirs.
	again = 15 * time.Second
	// soon is again while some group is not in force: its author waits.
	soon = 2 * time.Second
)

// Env is what a keeper needs of the world.
type Env struct {
	// May says whether a tenant has the right to a GPU of a node, given by its
	// card's UUID. An error means that nobody knows now.
	May func(ctx context.Context, tenant, node, id string) (bool, error)
	// Changed is called with the groups in force where Match may answer otherwise than
	// before, before anything is said of them.
	Changed func([]group.Group)
	// Said is called with a verdict that is new, in any order.
	Said func(Verdict)
}

// Keeper keeps the groups that are in force. A group is in force once it was
// accepted in its newest version, and for as long as its tenants have the right to
// it, though nodes or GPUs of it come and go. Its methods may be called from any
// goroutine.
//
// Acceptance asks the API server, so it is for Run, which is one goroutine: it
// looks at all groups whenever something was told, which costs O(groups · GPUs)
// and happens seldom. A group that was edited thus applies after gather and the
// time that its rights take to be asked; those of the others are asked when it is
// time, or a node changed, and not before, however many there are.
type Keeper struct {
	env      Env
	current  atomic.Pointer[order]
	told     chan struct{}
	judged   atomic.Bool
	verdicts map[string]Verdict // by group; Run's

	mu struct {
		sync.Mutex
		groups map[string]*v1alpha1.GPUGroup
		nodes  group.Nodes
		moved  bool // nodes have changed since the last look
	}
}

// order is what is in force, and why what is not is not. It is immutable.
type order struct {
	grouping *group.Grouping
	refused  map[string]string // sentences by group
}

// New returns a keeper that was told nothing.
func New(env Env) *Keeper {
	k := &Keeper{env: env, told: make(chan struct{}, 1), verdicts: map[string]Verdict{}}
	k.mu.groups, k.mu.nodes = map[string]*v1alpha1.GPUGroup{}, group.Nodes{}
	k.current.Store(&order{group.New(nil, nil), map[string]string{}})
	return k
}

// Match returns who serves an ask by the groups in force. The error says it, too, of
// a group that is there and not in force.
func (k *Keeper) Match(a group.Ask) (group.Match, error) {
	now := k.current.Load()
	if why, refused := now.refused[a.Group]; refused {
		return group.Match{}, fmt.Errorf("GPU group %q is not in force: %s", a.Group, why)
	}
	return now.grouping.Match(a)
}

// Empty reports whether no group is in force.
func (k *Keeper) Empty() bool { return k.current.Load().grouping.Empty() }

// Judged reports whether all that Run was told before it began is in force.
func (k *Keeper) Judged() bool { return k.judged.Load() }

// SetGroup tells how a group is now.
func (k *Keeper) SetGroup(g *v1alpha1.GPUGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.groups[g.Name] = g
	k.tell()
}

// RemoveGroup tells that there is no such group any more.
func (k *Keeper) RemoveGroup(g *v1alpha1.GPUGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.mu.groups, g.Name)
	k.tell()
}

// SetNode tells what a node's agent says now.
func (k *Keeper) SetNode(t *v1alpha1.NodeTopology) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := Inventory(t); !reflect.DeepEqual(v, k.node(t.Name)) {
		k.mu.nodes[t.Name], k.mu.moved = v, true
		k.tell()
	}
}

// node returns the GPUs of a node, none where it is not known. It needs k.mu.
func (k *Keeper) node(name string) *gpu.Inventory {
	if v := k.mu.nodes[name]; v != nil {
		return v
	}
	return &gpu.Inventory{}
}

// RemoveNode tells that there is no such node any more.
func (k *Keeper) RemoveNode(t *v1alpha1.NodeTopology) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.mu.nodes, t.Name)
	k.mu.moved = true
	k.tell()
}

// tell has Run look.
func (k *Keeper) tell() {
	select {
	case k.told <- struct{}{}:
	default: // somebody did already
	}
}

// Run keeps the grouping until ctx ends. synced says when the keeper was told all
// that there was.
func (k *Keeper) Run(ctx context.Context, synced func() bool) error {
	k.tell()
	var asked time.Time // when the rights of all groups were
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(asked.Add(k.patience()))):
		case <-k.told:
			time.Sleep(gather)
		}
		complete, anew := synced(), time.Since(asked) >= k.patience()
		if anew {
			asked = time.Now()
		}
		k.look(ctx, anew)
		if complete {
			k.judged.Store(true)
		} else {
			k.tell()
		}
	}
}

// patience is how long rights are not asked again.
func (k *Keeper) patience() time.Duration {
	if len(k.current.Load().refused) > 0 {
		return soon
	}
	return again
}

package nodestate

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// Center is the node information centre. Its methods may be called from any
// goroutine: those that change something work one after another under one lock,
// and View waits for none.
//
// Invariants: a record's version only grows, and grows with every change; what
// is free on a record is what the node has less the holdings of its pods; a pod
// holds on one node at most.
//
// Records are always the newest. The indexes lag: a change only notes which node
// it was about, and whoever looks next brings the indexes up to date, unless
// another is at it. So who gives nodes away never waits for an index, which
// costs several times what the change itself does; nodes that change often are
// indexed less often; and who looks alone sees everything. A node is found by
// what the index knows and accepted by its newest record, so that lag can only
// hide a node to which something was given back since: View.Gains tells.
//
// Two other ways were rejected. A snapshot copied for each first-tier scheduler
// costs O(nodes) a decision, at 5,000 nodes more than the decision itself
// (volcano-sh/volcano#5168). An index that each change updates makes the second
// tier, of which there is one, do four times the work.
type Center struct {
	profiles []Profile
	view     atomic.Pointer[View]
	stale    atomic.Bool   // the indexes lag behind some record
	freedSeq atomic.Uint64 // counts what became free; written with mu, and before the record
	entries  sync.Map      // name → *Entry; read without the lock, written with mu

	subscribers []Subscriber
	onFreed     []func(*sched.Node)

	mu struct {
		sync.Mutex
		assigned map[string]*Assignment     // by pod UID
		reserved map[string]map[string]bool // names of the nodes that a pod reserves on, by UID
		stale    []*Entry                   // of which the indexes do not know the record, each once
		changes  sched.Version              // of all records together
	}

	tending struct {
		sync.Mutex
		indexes []*distbucket.Reserving // of the profiles
		free    []int64                 // of the node in hand
		due     []duty                  // is empty in between
	}
}

// New returns a centre without nodes that looks for nodes in these ways.
func New(profiles ...Profile) (*Center, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("start node information centre: no profile")
	}
	c := &Center{}
	c.mu.assigned, c.mu.reserved = map[string]*Assignment{}, map[string]map[string]bool{}
	for _, p := range profiles {
		p, err := p.complete()
		if err != nil {
			return nil, fmt.Errorf("start node information centre: %w", err)
		}
		index, err := distbucket.NewReserving(distbucket.Config{Theta: p.Theta})
		if err != nil {
			return nil, fmt.Errorf("start node information centre: profile %q: %w", p.Name, err)
		}
		c.profiles, c.tending.indexes = append(c.profiles, p), append(c.tending.indexes, index)
	}
	c.publish(0)
	return c, nil
}

// Record returns the newest record of a node, or nil.
func (c *Center) Record(name string) *sched.Node {
	if e := c.Entry(name); e != nil {
		return e.Newest()
	}
	return nil
}

// Gains returns how often anything has become free, ever: exactly, where a
// View's may be of a moment before. It takes no lock.
func (c *Center) Gains() uint64 { return c.freedSeq.Load() }

// Score says how well a node suits a pod by the pod's profile.
func (c *Center) Score(pod *sched.Pod, node *sched.Node) sched.Score {
	return c.profiles[profileOf(c.profiles, pod.Profile)].Score(nil, pod, node)
}

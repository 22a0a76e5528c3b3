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
	stale    atomic.Bool // some site waits for the indexes

	mu struct {
		sync.Mutex
		sites   map[string]*site
		stays   map[string]*stay           // by pod UID
		holds   map[string]map[string]bool // names of the nodes that a pod reserves on, by UID
		waiting []*site                    // for the indexes, each once
		changes sched.Version              // of all records together
		gains   uint64
	}

	tending struct {
		sync.Mutex
		indexes []*distbucket.Reserving // of the profiles
		free    []int64                 // of the node in hand
		due     []duty                  // is empty in between
	}
}

// site is a place where pods are: a node, or the name of one that is not known
// (yet, or any more) but holds pods.
type site struct {
	name  string
	known bool                // to the adapter, as a node
	waits bool                // for the indexes
	slot  Slot                // the newest record
	note  atomic.Value        // of the filters
	held  *sched.Reservation  // as the indexes know it
	seats []distbucket.Handle // in the indexes; nil if they do not know it
	pods  []*stay             // in any order

	// The seats and pods themselves, if they are few. Whatever a decision touches of
	// a node is one page of memory to find if it is in one piece, of 100,000 nodes.
	seatRoom [1]distbucket.Handle
	podRoom  [8]*stay
}

// newSite returns a site that is not a node (yet) and holds no pods.
func newSite(name string) *site {
	s := &site{name: name}
	s.pods = s.podRoom[:0]
	return s
}

// sit gives a site free seats in so many indexes.
func (s *site) sit(count int) {
	s.seats = s.seatRoom[:]
	if count > len(s.seatRoom) {
		s.seats = make([]distbucket.Handle, count)
	}
}

// Slot has the newest record of a node. Indexes carry it.
type Slot struct{ newest atomic.Pointer[sched.Node] }

// Newest returns the node's record, or nil where the node is gone.
func (s *Slot) Newest() *sched.Node { return s.newest.Load() }

// Newest makes a site, with Note, the sched.Home of its records.
func (s *site) Newest() *sched.Node { return s.slot.Newest() }

// Note is where filters keep what leads to what they know of the node.
func (s *site) Note() *atomic.Value { return &s.note }

// stay is where a pod is and what it holds.
type stay struct {
	uid  string
	site *site
	at   int // of the site's pods
	sched.Holding
	bound bool // it is known to be bound there; else it is only decided
}

// New returns a centre without nodes that looks for nodes in these ways.
func New(profiles ...Profile) (*Center, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("start node information centre: no profile")
	}
	c := &Center{}
	c.mu.sites, c.mu.stays, c.mu.holds = map[string]*site{}, map[string]*stay{}, map[string]map[string]bool{}
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.mu.sites[name]; ok {
		return s.slot.Newest()
	}
	return nil
}

// Gains returns how often anything has become free, ever: exactly, where a
// View's may be of a moment before.
func (c *Center) Gains() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.gains
}

// Score says how well a node suits a pod by the pod's profile.
func (c *Center) Score(pod *sched.Pod, node *sched.Node) sched.Score {
	return c.profiles[profileOf(c.profiles, pod.Profile)].Score(nil, pod, node)
}

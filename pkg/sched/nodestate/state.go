package nodestate

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// State is the state of all nodes and the assignments of pods. Its methods may be called from any
// goroutine. Methods that change it run one at a time under one lock. Record does not take that
// lock, and View takes it only to read which nodes have changed. The package comment has the
// invariants.
//
// Two alternatives were rejected. The first one is a snapshot of all nodes for each decision, which
// takes time proportional to the number of nodes. With 5,000 nodes, the snapshot takes longer than
// the rest of the decision (volcano-sh/volcano#5168). The other alternative is that each change
// updates the indexes at once. The single goroutine that assigns pods (pipeline.Committer) would
// then have four times the work.
type State struct {
	profiles []filter.Profile
	view     atomic.Pointer[View]
	stale    atomic.Bool   // the indexes lack some node's newest record
	freedSeq atomic.Uint64 // counts changes by which resources may have become free; written under mu, before the node's record changes
	narrowed atomic.Uint64 // counts calls of Narrow; written under mu
	entries  sync.Map      // name → *Entry; read without a lock, written under mu
	capacity *capacity

	subscribers [kinds][]Subscriber
	onFreed     []func(*sched.Node)

	mu struct {
		sync.Mutex
		assigned map[string]*Assignment     // by pod UID
		reserved map[string]map[string]bool // names of the nodes that are reserved for a pod or gang, by the argument uid of Reserve
		stale    []*Entry                   // entries whose newest record is not in the indexes, without duplicates
		changes  sched.Version              // number of changes of all records
	}

	indexing struct {
		sync.Mutex
		indexes []*distbucket.Reserving // one for each profile
		free    []int64                 // buffer for the amounts by which an index sorts a node (filter.Space.AppendNode)
		due     []indexUpdate           // the entries that the current index update handles; after a ranker (filter.Profile.Ranker) has panicked, the entries with which the next index update begins
	}
}

// New returns a state without nodes, with an index for each profile.
func New(profiles ...filter.Profile) (*State, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("make node state: no profile")
	}
	capacity, err := newCapacity(profiles[0].Space)
	if err != nil {
		return nil, fmt.Errorf("make node state: %w", err)
	}
	s := &State{capacity: capacity}
	s.mu.assigned, s.mu.reserved = map[string]*Assignment{}, map[string]map[string]bool{}
	for _, profile := range profiles {
		p, err := profile.Complete()
		if err != nil {
			return nil, fmt.Errorf("make node state: %w", err)
		}
		index, err := distbucket.NewReserving(distbucket.Config{Theta: p.Theta})
		if err != nil {
			return nil, fmt.Errorf("make node state: profile %q: %w", p.Name, err)
		}
		s.profiles, s.indexing.indexes = append(s.profiles, p), append(s.indexing.indexes, index)
	}
	s.publish(&View{})
	return s, nil
}

// Record returns the newest record of a node, or nil.
func (s *State) Record(name string) *sched.Node {
	if entry := s.Entry(name); entry != nil {
		return entry.Newest()
	}
	return nil
}

// FreedSeq returns how often resources may have become free since New made the state. Callers
// compare it with View.FreedSeq, the same number at the time when the view was made. FreedSeq takes
// no lock.
func (s *State) FreedSeq() uint64 { return s.freedSeq.Load() }

// Narrow records that pods may no longer fit nodes whose records are unchanged, for example because
// a pod with anti-affinity was placed. Only subscribers may call Narrow, and only while they handle
// an event. Before the call, a subscriber must store the data from which the filters tell which
// pods no longer fit, such as the anti-affinity of the new pod. Because the data is stored before
// Narrow increases NarrowSeq, a goroutine that reads the new NarrowSeq and then checks a pod again
// also reads the new data.
func (s *State) Narrow() { s.narrowed.Add(1) }

// NarrowSeq returns how often Narrow was called since New made the state. It takes no lock.
func (s *State) NarrowSeq() uint64 { return s.narrowed.Load() }

// Profile returns the scheduling profile with the given name. If the name is empty or unknown, it
// returns the default profile, which is the first argument of New.
func (s *State) Profile(name string) *filter.Profile { return &s.profiles[profileOf(s.profiles, name)] }

package nodestate

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// State is the state of all nodes and what pods hold there. Its methods may be called
// from any goroutine: those that change something work one after another under one
// lock, and View and Record wait for none. The package's comment has the invariants.
//
// Two other ways were rejected. A snapshot copied for each first-tier scheduler
// costs O(nodes) a decision, at 5,000 nodes more than the decision itself
// (volcano-sh/volcano#5168). An index that each change updates makes the second
// tier, of which there is one, do four times the work.
type State struct {
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

	indexing struct {
		sync.Mutex
		indexes []*distbucket.Reserving // of the profiles
		free    []int64                 // of the node in hand
		due     []duty                  // is empty in between
	}
}

// New returns a state without nodes that looks for nodes in these ways.
func New(profiles ...Profile) (*State, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("make node state: no profile")
	}
	s := &State{}
	s.mu.assigned, s.mu.reserved = map[string]*Assignment{}, map[string]map[string]bool{}
	for _, p := range profiles {
		p, err := p.complete()
		if err != nil {
			return nil, fmt.Errorf("make node state: %w", err)
		}
		index, err := distbucket.NewReserving(distbucket.Config{Theta: p.Theta})
		if err != nil {
			return nil, fmt.Errorf("make node state: profile %q: %w", p.Name, err)
		}
		s.profiles, s.indexing.indexes = append(s.profiles, p), append(s.indexing.indexes, index)
	}
	s.publish(0)
	return s, nil
}

// Record returns the newest record of a node, or nil.
func (s *State) Record(name string) *sched.Node {
	if e := s.Entry(name); e != nil {
		return e.Newest()
	}
	return nil
}

// FreedSeq returns how often anything has become free, ever: exactly, where a
// View's may be of a moment before. It takes no lock.
func (s *State) FreedSeq() uint64 { return s.freedSeq.Load() }

// Score says how well a node suits a pod by the pod's profile.
func (s *State) Score(pod *sched.Pod, node *sched.Node) sched.Score {
	return s.profiles[profileOf(s.profiles, pod.Profile)].Score(nil, pod, node)
}

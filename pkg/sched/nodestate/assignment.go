package nodestate

import (
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Assignment is what one pod holds on one node. It is immutable.
type Assignment struct {
	UID    string
	Node   string // its name
	Tenant string // that it is charged to
	Group  string // of GPUs, that its cards were given from; "" for none
	Gang   string // the ID of its gang; "" for none
	// Since is when it was bound, zero where that is not known, which means just now.
	// Ends is when it ends at the latest, zero where that is not known.
	Since, Ends time.Time
	// Cards and Parts are how many whole cards and parts of cards it has. Which cards
	// Holding says, on nodes that tell theirs apart.
	Cards, Parts int
	sched.Holding
	Bound   bool // it is known to be bound; else it is only decided
	Foreign any  // an adapter's own immutable view of the pod

	entry *Entry
	index int // of the entry's pods
}

// Entry returns the entry of the node; nil for one that is not in the state.
func (a *Assignment) Entry() *Entry { return a.entry }

// Decided returns what a pod is to hold by a decision.
func Decided(d sched.Decision) *Assignment {
	a := &Assignment{
		UID: d.Pod.UID, Node: d.At.Node, Tenant: d.Pod.Tenant, Group: d.At.GPUGroup,
		Cards: d.Pod.GPUs.Count, Parts: d.Pod.GPUs.Part.Count, Holding: sched.Hold(d.Pod, d.At), Foreign: d.Pod.Foreign,
	}
	if d.Pod.Gang != nil {
		a.Gang = d.Pod.Gang.ID
	}
	return a
}

// Charges returns what the pod's tenant is charged for, by the types of GPU of the
// node's record, nil for a node that is not known.
func (a *Assignment) Charges(node *sched.Node) []fairshare.Charge {
	switch {
	case a.Cards > 0 && len(a.GPUs) == 0:
		return fairshare.ChargeUnnamed(int64(a.Cards), node)
	case a.Parts > 0 && node == nil:
		return fairshare.ChargeUnnamed(int64(a.Parts), nil)
	case node == nil:
		node = &sched.Node{}
	}
	return fairshare.Charges(a.Holding, node)
}

// HasGPUs reports whether the charges depend on what GPUs the node has.
func (a *Assignment) HasGPUs() bool { return a.Cards > 0 || a.Parts > 0 }

// SameCharges reports whether an assignment is charged as another one was.
func (a *Assignment) SameCharges(was *Assignment) bool {
	return was != nil && a.Bound == was.Bound && a.Node == was.Node && a.Tenant == was.Tenant && a.Group == was.Group && a.Since.Equal(was.Since) &&
		a.CPU == was.CPU && a.Extended.Equal(was.Extended) && slices.Equal(a.GPUs, was.GPUs)
}

// Place gives a pod its place, and its reservations up, if read is still the
// newest record of the node and the pod has no place yet.
func (s *State) Place(pod *sched.Pod, read *sched.Node, at sched.Placement) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := read.Source.(*Entry)
	if _, has := s.mu.assigned[pod.UID]; has || !ok || e.Newest() != read {
		return false
	}
	now := Decided(sched.Decision{Pod: pod, At: at})
	s.emit(Event{Kind: Assigned, UID: pod.UID, Entry: e, Node: read, Now: now})
	s.add(e, now)
	return true
}

// Adopt enters a pod that is bound, whoever decided it: it holds what it holds,
// even where that is more than there is.
func (s *State) Adopt(a Assignment) {
	if was := s.adopt(&a); was != nil {
		s.freed(was.entry)
	}
}

// adopt returns the assignment that was given back, nil for none.
func (s *State) adopt(now *Assignment) (back *Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Bound = true
	e, was := s.makeEntry(now.Node), s.mu.assigned[now.UID]
	s.emit(Event{Kind: Assigned, UID: now.UID, Entry: e, Node: e.Newest(), Now: now, Was: was})
	switch {
	case was == nil:
		s.add(e, now)
	case was.entry != e:
		s.remove(was)
		s.add(e, now)
		return was
	default:
		return s.replace(was, now)
	}
	return nil
}

// Release gives back what a pod holds and reserves, for the pod is gone. It reports
// whether the pod held anything.
func (s *State) Release(uid string) bool { return s.release(uid, true) }

// End gives back what a pod holds and reserves, for the pod has ended. It reports
// whether the pod held anything.
func (s *State) End(uid string) bool { return s.release(uid, false) }

func (s *State) release(uid string, gone bool) bool {
	was := s.takeOut(uid, gone)
	if was == nil {
		return false
	}
	s.freed(was.entry)
	return true
}

// takeOut returns what a pod held, nil for nothing.
func (s *State) takeOut(uid string, gone bool) *Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreserve(uid)
	was := s.mu.assigned[uid]
	event := Event{Kind: Released, UID: uid, Was: was, Gone: gone}
	if was == nil {
		s.emit(event)
		return nil
	}
	event.Entry, event.Node = was.entry, was.entry.Newest()
	s.emit(event)
	s.remove(was)
	return was
}

// Undo gives back what was decided for a pod and could not be bound, and reports
// whether it did: not where the pod turns out to be bound after all.
func (s *State) Undo(d sched.Decision) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.mu.assigned[d.Pod.UID]
	if was == nil || was.Bound || was.Node != d.At.Node {
		return false
	}
	s.emit(Event{Kind: Undone, UID: was.UID, Entry: was.entry, Node: was.entry.Newest(), Was: was})
	s.remove(was)
	return true
}

// Holds reports whether a pod has its place.
func (s *State) Holds(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.assigned[uid] != nil
}

// Assignment returns what a pod holds, nil for nothing.
func (s *State) Assignment(uid string) *Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.assigned[uid]
}

// Assignments returns what pods hold on a node, in order of their UIDs. It costs
// O(pods there · log pods there).
func (s *State) Assignments(node string) []*Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.Entry(node)
	if e == nil {
		return nil
	}
	return slices.SortedFunc(e.Assignments(), func(a, b *Assignment) int { return strings.Compare(a.UID, b.UID) })
}

// These methods need s.mu.

// add enters an assignment, and takes what it holds from the node.
func (s *State) add(e *Entry, a *Assignment) {
	s.unreserve(a.UID)
	s.mu.assigned[a.UID] = a
	e.add(a)
	if record := e.Newest(); record != nil {
		s.setRecord(e, record.Take(a.Holding))
	}
}

// replace enters an assignment in place of another one of the same pod on the same node,
// which it returns where that held something else.
func (s *State) replace(was, now *Assignment) *Assignment {
	e := was.entry
	e.replace(was, now)
	s.mu.assigned[now.UID] = now
	if was.Holding.Equal(now.Holding) {
		return nil
	}
	s.freedSeq.Add(1)
	if record := e.Newest(); record != nil {
		s.setRecord(e, record.Return(was.Holding).Take(now.Holding))
	}
	return was
}

// remove takes an assignment out, and gives what it held back to the node.
func (s *State) remove(a *Assignment) {
	delete(s.mu.assigned, a.UID)
	a.entry.remove(a)
	s.freedSeq.Add(1)
	if record := a.entry.Newest(); record != nil {
		s.setRecord(a.entry, record.Return(a.Holding))
	}
	s.deleteUnused(a.entry)
}

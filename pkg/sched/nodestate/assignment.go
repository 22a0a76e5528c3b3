package nodestate

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Assignment is the resources that one pod holds on one node. Its exported fields never change.
type Assignment struct {
	UID    string
	Node   string // the node's name
	Tenant string // the tenant that is charged
	Group  string // the GPU group of its GPUs; "" for none
	Gang   string // the ID of its gang; "" for none
	// Since is when the pod was bound; zero counts as the present time.
	// Ends is when the pod ends at the latest; zero means unknown.
	Since, Ends time.Time
	// WholeGPUs and Parts are the numbers of the pod's whole GPUs and parts of GPUs. On nodes whose
	// GPUs can be told apart, Holding has the IDs of the GPUs.
	WholeGPUs, Parts int
	sched.Holding
	Bound   bool // true: the API server has the pod's binding; false: the scheduler has only chosen the node
	Foreign any  // the pod's sched.Pod.Foreign

	entry *Entry
	index int // in entry.pods
}

// Entry returns the Entry that has the state of the node, or nil if the assignment was
// never added to a State.
func (a *Assignment) Entry() *Entry { return a.entry }

// Decided returns the assignment that results from a scheduling decision. The pod is not bound yet.
func Decided(decision sched.Decision) *Assignment {
	a := &Assignment{
		UID: decision.Pod.UID, Node: decision.At.Node, Tenant: decision.Pod.Tenant, Group: decision.At.GPUGroup,
		WholeGPUs: decision.Pod.GPUs.Count, Parts: decision.Pod.GPUs.Part.Count, Holding: sched.Hold(decision.Pod, decision.At), Foreign: decision.Pod.Foreign,
	}
	if decision.Pod.Gang != nil {
		a.Gang = decision.Pod.Gang.ID
	}
	return a
}

// Charges returns what the pod's tenant is charged for. The parameter `node` is the record of the
// pod's node, which has the types of the node's GPUs. It is nil if the pod's node is unknown.
func (a *Assignment) Charges(node *sched.Node) []fairshare.Charge {
	switch {
	case a.HasGPUs() && node == nil:
		return fairshare.ChargeUnnamed(int64(a.WholeGPUs+a.Parts), a.Holding, nil)
	case a.WholeGPUs > 0 && len(a.GPUs) == 0:
		return fairshare.ChargeUnnamed(int64(a.WholeGPUs), a.Holding, node)
	case node == nil:
		node = &sched.Node{}
	}
	return fairshare.Charges(a.Holding, node)
}

// HasGPUs reports whether the pod has GPUs or parts of GPUs. If it has, its charges depend on the
// node's record.
func (a *Assignment) HasGPUs() bool { return a.WholeGPUs > 0 || a.Parts > 0 }

// SameCharges compares the assignment with an earlier one of the same pod (`was`). It reports
// whether the two are equal in everything that decides what the pod's tenant is charged for, apart
// from the node's record. It returns false if `was` is nil.
func (a *Assignment) SameCharges(was *Assignment) bool {
	return was != nil && a.Bound == was.Bound && a.Node == was.Node && a.Tenant == was.Tenant && a.Group == was.Group && a.Since.Equal(was.Since) &&
		a.CPU == was.CPU && a.Extended.Equal(was.Extended) && slices.Equal(a.GPUs, was.GPUs)
}

// Place assigns a pod to a node and releases the reservations whose key is the pod's UID. The
// caller must have checked that the pod fits the node. The argument `read` is the record of the node
// that the caller checked. The argument `seen` is what NarrowSeq returned before the check.
// NarrowSeq counts changes after which a pod may no longer fit a node although the node's record is
// the same, for example because a pod with anti-affinity was placed on another node. Place returns
// false and changes nothing in three cases: the node has a newer record than `read`, NarrowSeq has
// grown since it returned `seen`, or the pod is already assigned.
func (s *State) Place(pod *sched.Pod, read *sched.Node, at sched.Placement, seen uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := read.Source.(*Entry)
	if _, has := s.mu.assigned[pod.UID]; has || !ok || e.Newest() != read || s.narrowed.Load() > seen {
		return false
	}
	now := Decided(sched.Decision{Pod: pod, At: at})
	s.emit(Event{Kind: Placed, UID: pod.UID, Entry: e, Node: read, Now: now})
	s.add(e, now)
	return true
}

// Adopt adds or replaces the assignment of a bound pod. Any scheduler may have bound it. The
// assignment is accepted even if the node does not have enough resources.
func (s *State) Adopt(a Assignment) {
	if was := s.adopt(&a); was != nil {
		s.freed(was.entry)
	}
}

// adopt adds an assignment. It returns the pod's earlier assignment if resources may have become
// free on the node of that assignment, otherwise nil.
func (s *State) adopt(now *Assignment) (freed *Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Bound = true
	e, was := s.makeEntry(now.Node), s.mu.assigned[now.UID]
	s.emit(Event{Kind: Bound, UID: now.UID, Entry: e, Node: e.Newest(), Now: now, Was: was})
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

// Release releases the assignment and the reservations of a deleted pod. The event of this release
// is the pod's last one (Event.Gone). Release reports whether the pod was assigned.
func (s *State) Release(uid string) bool { return s.release(uid, true) }

// End releases the assignment and the reservations of a pod that has ended but still exists. It
// reports whether the pod was assigned.
func (s *State) End(uid string) bool { return s.release(uid, false) }

func (s *State) release(uid string, gone bool) bool {
	was := s.takeOut(uid, gone)
	if was == nil {
		return false
	}
	s.freed(was.entry)
	return true
}

// takeOut removes a pod's assignment and reservations. It returns the removed assignment, or nil if
// the pod had none.
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

// Undo removes the assignment of a decision that could not be written to the API server. If the pod
// is known to be bound, or is not assigned to the decision's node, Undo changes nothing and returns
// false.
func (s *State) Undo(decision sched.Decision) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.mu.assigned[decision.Pod.UID]
	if was == nil || was.Bound || was.Node != decision.At.Node {
		return false
	}
	s.emit(Event{Kind: Undone, UID: was.UID, Entry: was.entry, Node: was.entry.Newest(), Was: was})
	s.remove(was)
	return true
}

// Holds reports whether a pod is assigned to any node.
func (s *State) Holds(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.assigned[uid] != nil
}

// Assignment returns a pod's assignment, or nil.
func (s *State) Assignment(uid string) *Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.assigned[uid]
}

// Assignments returns the assignments on a node, sorted by pod UID.
func (s *State) Assignments(node string) []*Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.Entry(node)
	if entry == nil {
		return nil
	}
	return slices.SortedFunc(entry.Assignments(), func(a, b *Assignment) int { return strings.Compare(a.UID, b.UID) })
}

// Visit calls f once, with all assignments in any order. No assignment can change until Visit
// returns. f must obey the rules for subscribers (see Subscriber). f may read the records of the
// nodes of the assignments (Assignment.Entry).
func (s *State) Visit(f func(iter.Seq[*Assignment])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(maps.Values(s.mu.assigned))
}

// Callers of the methods below must hold s.mu.

// add adds an assignment, and takes its resources from the node.
func (s *State) add(entry *Entry, assignment *Assignment) {
	s.unreserve(assignment.UID)
	s.mu.assigned[assignment.UID] = assignment
	entry.add(assignment)
	if record := entry.Newest(); record != nil {
		s.setRecord(entry, record.Take(assignment.Holding))
	}
}

// replace replaces an assignment (`was`) by a newer one (`now`) of the same pod on the same node.
// If the two hold different resources, the method returns the old assignment, otherwise nil.
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

// remove removes an assignment, and adds its resources to what is free on the node.
func (s *State) remove(assignment *Assignment) {
	delete(s.mu.assigned, assignment.UID)
	assignment.entry.remove(assignment)
	s.freedSeq.Add(1)
	if record := assignment.entry.Newest(); record != nil {
		s.setRecord(assignment.entry, record.Return(assignment.Holding))
	}
	s.deleteUnused(assignment.entry)
}

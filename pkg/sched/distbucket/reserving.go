package distbucket

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Reserving is an index whose nodes may hold a reservation each: the task that it is for sees all that is free on the node, every other task
// what is left. A task may hold several nodes.
//
// It is two indexes: A, the nodes that hold a reservation, with all that is free on them, and B, all nodes with what is left. A task is
// answered from B and from its own part of A, which the order by task makes a range, and the better by policy wins. Without reservations A is
// empty and costs nothing.
type Reserving struct {
	unreserved *Index // B
	heldByTask tree   // A, by task and then by name
	heldByName tree   // A, by name
}

// NewReserving returns an empty index, or says what is wrong with the configuration.
func NewReserving(c Config) (*Reserving, error) {
	unreserved, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Reserving{
		unreserved: unreserved,
		heldByTask: tree{owner: new(owner), keyOf: noKey, order: compareTask},
		heldByName: tree{owner: new(owner), keyOf: noKey, order: compareName},
	}, nil
}

func compareTask(a, b *entry) int {
	return cmp.Or(strings.Compare(a.task, b.task), strings.Compare(a.Name, b.Name))
}

// Add takes a node into the index. It is an error if one of that name is there.
func (r *Reserving) Add(n Node) error { return r.unreserved.Add(n) }

// AddAt is Add to a handle in the caller's memory, which has to be free.
func (r *Reserving) AddAt(h *Handle, n Node) error { return r.unreserved.AddAt(h, n) }

// Update replaces the node of that name. Its reservation stays. It is an error if there is no such node.
func (r *Reserving) Update(n Node) error {
	if old := r.heldByName.find(n.Name); old != nil {
		return r.setReserved(n, old.reservation)
	}
	return r.unreserved.Update(n)
}

// Remove takes the node of that name out, and its reservation. It is an error if there is none.
func (r *Reserving) Remove(name string) error {
	if old := r.heldByName.find(name); old != nil {
		r.dropReserved(old)
	}
	return r.unreserved.Remove(name)
}

// Reserve sets amounts of a node aside for a task, in place of what the node held for it before. It is an error if the node holds some for
// another task, or is not in the index.
func (r *Reserving) Reserve(node, task string, amounts Vector) error {
	n, err := r.checkReserve(node, task, amounts)
	if err != nil {
		return fmt.Errorf("reserve %v of node %q for task %q: %w", amounts, node, task, err)
	}
	return r.setReserved(*n, &reservation{task: task, amounts: amounts})
}

// mayHold returns the node with all that is free on it, or says why it cannot hold amounts for a task.
func (r *Reserving) checkReserve(node, task string, amounts Vector) (*Node, error) {
	n, old := r.find(node), r.heldByName.find(node)
	switch {
	case task == "":
		return nil, errors.New("the task has no name")
	case n == nil:
		return nil, errors.New("the node is not in the index")
	case len(amounts) > 0 && slices.Min(amounts) < 0:
		return nil, errors.New("an amount is negative")
	case old != nil && old.task != task:
		return nil, fmt.Errorf("it holds %v for task %q", old.amounts, old.task)
	}
	return n, r.unreserved.space.check(amounts)
}

// Release gives up what the node holds for a task, and says whether it held any.
func (r *Reserving) Release(node, task string) bool {
	old := r.heldByName.find(node)
	if old == nil || old.task != task {
		return false
	}
	r.dropReserved(old)
	return r.unreserved.Update(old.Node) == nil
}

// View returns the index as it is now, in O(1). Later changes do not show in it.
func (r *Reserving) View() ReservingView {
	r.heldByTask.freeze()
	r.heldByName.freeze()
	return ReservingView{unreserved: r.unreserved.View(), heldByTask: r.heldByTask, heldByName: r.heldByName}
}

// hold brings both indexes up to date with a node and what it holds.
func (r *Reserving) setReserved(n Node, held *reservation) error {
	e, err := r.unreserved.space.checkedEntry(n)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	e.reservation = held
	r.heldByName.put(e)
	r.heldByTask.put(e)
	n.Free = n.Free.minus(held.amounts)
	return r.unreserved.Update(n)
}

func (r *Reserving) dropReserved(e *entry) {
	r.heldByName.remove(e)
	r.heldByTask.remove(e)
}

// find returns the node of that name with all that is free on it, or nil.
func (r *Reserving) find(name string) *Node {
	if e := r.heldByName.find(name); e != nil {
		return &e.Node
	}
	if h := r.unreserved.Handle(name); h != nil {
		return h.Node()
	}
	return nil
}

// UpdateAt is Update of the node in a handle, whose name it keeps.
func (r *Reserving) UpdateAt(h *Handle, n Node) error {
	if old := r.heldByName.find(n.Name); old != nil {
		return r.setReserved(n, old.reservation)
	}
	return r.unreserved.UpdateAt(h, n)
}

// ReservingView is to View what Reserving is to Index.
type ReservingView struct {
	unreserved             View
	heldByTask, heldByName tree
}

// Len returns the number of nodes.
func (v ReservingView) Len() int { return v.unreserved.Len() }

// AppendPick is Pick into a slice that the caller owns.
func (v ReservingView) AppendPick(dst []*Node, q Query, n int) []*Node {
	own := v.ownNodes(q.Task)
	n = min(n, v.Len())
	if len(own) == 0 || n <= 0 {
		return v.unreserved.AppendPick(dst, q, n)
	}
	found := make([]*entry, n)
	search := v.unreserved.search(v.exceptOwn(q, own))
	s := selection{search: &search, dst: found, kept: search.pick(found)}
	search.Accept = q.Accept
	for _, e := range own {
		if q.Candidates == nil || slices.Contains(q.Candidates, e.Name) {
			s.offer(e)
		}
	}
	return appendNodes(dst, found[:s.kept])
}

// others returns the query without the nodes that hold a reservation for the task.
func (v ReservingView) exceptOwn(q Query, own []*entry) Query {
	accept := q.Accept
	q.Accept = func(n *Node) bool {
		mine := slices.ContainsFunc(own, func(e *entry) bool { return e.Name == n.Name })
		return !mine && (accept == nil || accept(n))
	}
	return q
}

// heldFor returns the range of byTask that is the task's, marked as the nodes are.
func (v ReservingView) ownNodes(task string) []*entry {
	lo := v.heldByTask.rank(0, func(p *page, i int) bool { return p.items[i].task >= task })
	hi := v.heldByTask.rank(0, func(p *page, i int) bool { return p.items[i].task > task })
	var own []*entry
	for r := lo; r < hi; r++ {
		e := *v.heldByTask.atRank(r)
		at := v.unreserved.find(e.Name)
		e.label, e.seq = at.label, at.seq
		own = append(own, &e)
	}
	return own
}

// Nodes yields all nodes in order of their names, with what is left on them.
func (v ReservingView) Nodes() iter.Seq[*Node] { return v.unreserved.Nodes() }

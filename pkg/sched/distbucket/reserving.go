package distbucket

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Reserving is an index in which free amounts of a node can be reserved for one task. When that
// task needs a node, the search counts everything that is free on the node, reserved or not. All
// other searches count only what is not reserved. A task can have reservations on several nodes.
//
// A Reserving consists of two indexes, A and B. A has the nodes with a reservation, and everything
// that is free on them. B has all nodes, and what is free and not reserved on them:
//
//	B.Free(n) = max(Free(n) − reserved(n), 0)
//
// A search for a task reads B and the nodes of A that are reserved for the task, and merges the
// results in the order of the query's policy. A task has few nodes in A, so a search reads all of
// them. So A needs nothing that makes searches of many nodes fast: neither upper bounds of free
// amounts in its pages (maxima), with which nodes are skipped, nor labels (integers that are
// compared faster than names). If there are no reservations, A is empty and takes no time.
//
// A single index that knows the reservations was rejected: an index sorts nodes by their free
// amounts, and these would be different for different tasks.
//
// As with Index, one goroutine at a time may use it, and any number of goroutines may search its
// views.
type Reserving struct {
	unreserved *Index // index B
	heldByTask tree   // index A, sorted by task and then by name: the nodes that are reserved for one task are contiguous
	heldByName tree   // index A, sorted by name
}

// NewReserving returns an empty index, or an error if the configuration is invalid.
func NewReserving(config Config) (*Reserving, error) {
	unreserved, err := New(config)
	if err != nil {
		return nil, err
	}
	return &Reserving{
		unreserved: unreserved,
		heldByTask: tree{owner: new(owner), keyOf: noKey, order: compareTask},
		heldByName: tree{owner: new(owner), keyOf: noKey, order: compareName},
	}, nil
}

// compareTask orders entries by the task for which their nodes have a reservation, and then by
// name.
func compareTask(a, b *entry) int {
	return cmp.Or(strings.Compare(a.task, b.task), strings.Compare(a.Name, b.Name))
}

// Add adds a node. See Index.Add.
func (r *Reserving) Add(node Node) error { return r.unreserved.Add(node) }

// AddAt adds a node, and makes the given Handle the handle of the node, with which
// UpdateAt finds the node. See Index.AddAt.
func (r *Reserving) AddAt(handle *Handle, node Node) error { return r.unreserved.AddAt(handle, node) }

// Update replaces the node that has the name node.Name, and keeps the node's reservation. It
// returns an error if the index has no node of that name.
func (r *Reserving) Update(node Node) error {
	if old := r.heldByName.find(node.Name); old != nil {
		return r.setReserved(node, old.reservation)
	}
	return r.unreserved.Update(node)
}

// Remove removes the node with the given name, and the node's reservation. It returns an error if
// the index has no such node.
func (r *Reserving) Remove(name string) error {
	if old := r.heldByName.find(name); old != nil {
		r.dropReserved(old)
	}
	return r.unreserved.Remove(name)
}

// Reserve reserves amounts of a node for a task. It replaces an earlier reservation of the node for
// the same task. The amounts may be greater than what is free. The index keeps the slice `amounts`,
// so the caller must not change it. Reserve returns an error if the node is reserved for another
// task or is not in the index, if `task` is empty, if an amount is negative, or if the number of
// amounts is not the number of dimensions.
func (r *Reserving) Reserve(node, task string, amounts Vector) error {
	n, err := r.checkReserve(node, task, amounts)
	if err != nil {
		return fmt.Errorf("reserve %v of node %q for task %q: %w", amounts, node, task, err)
	}
	return r.setReserved(*n, &reservation{task: task, amounts: amounts})
}

// checkReserve returns an error if the amounts cannot be reserved for the task. Otherwise it
// returns the node with everything that is free on it, reserved or not.
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

// Release ends a task's reservation on a node. It reports whether there was such a reservation.
func (r *Reserving) Release(node, task string) bool {
	old := r.heldByName.find(node)
	if old == nil || old.task != task {
		return false
	}
	r.dropReserved(old)
	return r.unreserved.Update(old.Node) == nil
}

// View returns an immutable snapshot of r. See Index.View.
func (r *Reserving) View() ReservingView {
	r.heldByTask.freeze()
	r.heldByName.freeze()
	return ReservingView{unreserved: r.unreserved.View(), heldByTask: r.heldByTask, heldByName: r.heldByName}
}

// setReserved stores a node that has a reservation. node.Free must have everything that is free on
// the node, reserved or not. The trees heldByName and heldByTask store the node with these amounts.
// The index `unreserved` stores it without the reserved amounts.
func (r *Reserving) setReserved(node Node, held *reservation) error {
	e, err := r.unreserved.space.checkedEntry(node)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	e.reservation = held
	r.heldByName.put(e)
	r.heldByTask.put(e)
	node.Free = node.Free.minus(held.amounts)
	return r.unreserved.Update(node)
}

// dropReserved removes an entry from the two trees of nodes with a reservation.
func (r *Reserving) dropReserved(e *entry) {
	r.heldByName.remove(e)
	r.heldByTask.remove(e)
}

// find returns the node with the given name, with everything that is free on it, reserved or not.
// It returns nil if the index has no such node.
func (r *Reserving) find(name string) *Node {
	if e := r.heldByName.find(name); e != nil {
		return &e.Node
	}
	if h := r.unreserved.Handle(name); h != nil {
		return h.Node()
	}
	return nil
}

// UpdateAt replaces the node to which the Handle belongs (see AddAt), and keeps the node's
// reservation. See Index.UpdateAt.
func (r *Reserving) UpdateAt(handle *Handle, node Node) error {
	if old := r.heldByName.find(node.Name); old != nil {
		return r.setReserved(node, old.reservation)
	}
	return r.unreserved.UpdateAt(handle, node)
}

// ReservingView is an immutable snapshot of a Reserving. Any number of goroutines may search it.
type ReservingView struct {
	unreserved             View // of index B (see Reserving)
	heldByTask, heldByName tree // of index A
}

// Len returns the number of nodes.
func (v ReservingView) Len() int { return v.unreserved.Len() }

// AppendPick appends up to n nodes that fit the query, as View.AppendPick does. Amounts that are
// reserved for Query.Task count as free, also in the field Free of the returned nodes. If the task
// has k reservations and the index has m nodes, the reservations add O(k · log m) time to the
// search, and O(k) time for each node that fits.
func (v ReservingView) AppendPick(dst []*Node, query Query, n int) []*Node {
	own := v.ownNodes(query.Task)
	n = min(n, v.Len())
	if len(own) == 0 || n <= 0 {
		return v.unreserved.AppendPick(dst, query, n)
	}
	found := make([]*entry, n) // the search below fills this with the best nodes on which nothing is reserved for the task; the loop after it adds the nodes in `own`
	search := v.unreserved.search(v.exceptOwn(query, own))
	s := selection{search: &search, dst: found, kept: search.pick(found)}
	search.Accept = query.Accept
	for _, e := range own {
		if query.Candidates == nil || slices.Contains(query.Candidates, e.Name) {
			s.offer(e)
		}
	}
	return appendNodes(dst, found[:s.kept])
}

// exceptOwn returns a copy of the query that leaves out the nodes in `own`. These are the nodes on
// which resources are reserved for the task of the query. For this task, more is free on these
// nodes than v.unreserved says.
func (v ReservingView) exceptOwn(query Query, own []*entry) Query {
	accept := query.Accept
	query.Accept = func(n *Node) bool {
		mine := slices.ContainsFunc(own, func(e *entry) bool { return e.Name == n.Name })
		return !mine && (accept == nil || accept(n))
	}
	return query
}

// ownNodes returns the nodes on which resources are reserved for the task, with everything that is
// free on them. The entries get the labels that the same nodes have in v.unreserved, so that they
// can be compared with entries of v.unreserved.
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

// Nodes yields all nodes in the order of their names. The field Free of each node has what is free
// and not reserved.
func (v ReservingView) Nodes() iter.Seq[*Node] { return v.unreserved.Nodes() }

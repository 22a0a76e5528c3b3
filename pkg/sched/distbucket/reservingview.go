package distbucket

import (
	"iter"
	"slices"
)

// ReservingView is to View what Reserving is to Index.
type ReservingView struct {
	left         View
	byTask, held tree
}

// Len returns the number of nodes.
func (v ReservingView) Len() int { return v.left.Len() }

// Node returns the node of that name as a task sees it, or nil.
func (v ReservingView) Node(name, task string) *Node {
	if e := v.held.find(name); e != nil && e.task == task {
		return &e.Node
	}
	return v.left.Node(name)
}

// Held returns the nodes that hold a reservation for a task, in order of their names, with all that is free on them.
func (v ReservingView) Held(task string) []*Node { return appendNodes(nil, v.heldFor(task)) }

// Pick returns up to n nodes that really fit Query.Task, the best by policy first. Their Free is what that task sees.
func (v ReservingView) Pick(q Query, n int) []*Node { return v.AppendPick(nil, q, n) }

// AppendPick is Pick into a slice that the caller owns.
func (v ReservingView) AppendPick(dst []*Node, q Query, n int) []*Node {
	own := v.heldFor(q.Task)
	n = min(n, v.Len())
	if len(own) == 0 || n <= 0 {
		return v.left.AppendPick(dst, q, n)
	}
	room := make([]*entry, n)
	a := v.left.ask(v.others(q, own))
	s := selection{ask: &a, room: room, kept: a.pick(room)}
	a.Accept = q.Accept
	for _, e := range own {
		if q.Candidates == nil || slices.Contains(q.Candidates, e.Name) {
			s.offer(e)
		}
	}
	return appendNodes(dst, room[:s.kept])
}

// others returns the query without the nodes that hold a reservation for the task.
func (v ReservingView) others(q Query, own []*entry) Query {
	accept := q.Accept
	q.Accept = func(n *Node) bool {
		mine := slices.ContainsFunc(own, func(e *entry) bool { return e.Name == n.Name })
		return !mine && (accept == nil || accept(n))
	}
	return q
}

// heldFor returns the range of byTask that is the task's, marked as the nodes are.
func (v ReservingView) heldFor(task string) []*entry {
	lo := v.byTask.rank(0, func(b *block, i int) bool { return b.items[i].task >= task })
	hi := v.byTask.rank(0, func(b *block, i int) bool { return b.items[i].task > task })
	var own []*entry
	for r := lo; r < hi; r++ {
		e := *v.byTask.at(r)
		at := v.left.find(e.Name)
		e.label, e.number = at.label, at.number
		own = append(own, &e)
	}
	return own
}

// Nodes yields all nodes in order of their names, with what is left on them.
func (v ReservingView) Nodes() iter.Seq[*Node] { return v.left.Nodes() }

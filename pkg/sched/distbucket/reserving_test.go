package distbucket

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reservations is the simplest implementation of Reserving: a map of the nodes by name, and a map
// of the nodes' reservations by name of the node. The test compares Reserving with it.
type reservations struct {
	nodes map[string]Node
	holds map[string]reservation
}

// seenBy returns all nodes, each with the amounts that are free on it for a task.
func (r reservations) seenBy(task string, s space) naive {
	seen := naive{space: s, nodes: map[string]Node{}}
	for name, node := range r.nodes {
		if h, ok := r.holds[name]; ok && h.task != task {
			node.Free = node.Free.minus(h.amounts)
		}
		seen.nodes[name] = node
	}
	return seen
}

// TestReservingTwin makes the same random changes of nodes and reservations in a Reserving and in a
// simple implementation (the type `reservations`). It compares the results of searches in both.
func TestReservingTwin(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 11))
		x, err := NewReserving(Config{Theta: Vector{1 + r.Int64N(3), 1 + r.Int64N(3)}})
		if err != nil {
			t.Fatal(err)
		}
		twin := reservations{nodes: map[string]Node{}, holds: map[string]reservation{}}
		cursors := []Cursor{{}}
		for range 400 {
			reserveAtRandom(t, r, x, twin)
			if r.IntN(20) == 0 {
				x.unreserved.relabel()
			}
			task := fmt.Sprint("t", r.IntN(4))
			query := Query{Request: Vector{r.Int64N(10), r.Int64N(10)}, Policy: Policy(r.IntN(4)), Task: task, After: cursors[r.IntN(len(cursors))]}
			want := twin.seenBy(task, x.unreserved.space).fitting(query)
			want = want[:min(len(want), 5)]
			got := x.View().pick(query, 5)
			if diff := cmp.Diff(want, names(got)); diff != "" {
				t.Fatalf("%s %v for %s after %q (-want +got):\n%s", query.Policy, query.Request, task, query.After.name, diff)
			}
			for _, n := range got {
				cursors = append(cursors, n.Cursor())
			}
			cursors = append(cursors, cursorAfter(fmt.Sprint("n", r.IntN(30))))
			cursors = cursors[max(0, len(cursors)-20):]
		}
	}
}

// reserveAtRandom makes one random change of a node or its reservation, in both `x` and `twin`.
func reserveAtRandom(t *testing.T, r *rand.Rand, x *Reserving, twin reservations) {
	t.Helper()
	node := Node{Name: fmt.Sprint("n", r.IntN(30)), Free: Vector{r.Int64N(12), r.Int64N(12)}}
	_, have := twin.nodes[node.Name]
	was, holds := twin.holds[node.Name]
	task := fmt.Sprint("t", r.IntN(4))
	var err error
	switch action := r.IntN(4); {
	case !have:
		err = x.Add(node)
		twin.nodes[node.Name] = node
	case action == 0:
		err = x.Remove(node.Name)
		delete(twin.nodes, node.Name)
		delete(twin.holds, node.Name)
	case action == 1 && r.IntN(2) == 0:
		err = x.UpdateAt(x.unreserved.Handle(node.Name), node)
		twin.nodes[node.Name] = node
	case action == 1:
		err = x.Update(node)
		twin.nodes[node.Name] = node
	case holds && was.task != task:
		if x.Release(node.Name, task) {
			t.Fatalf("node %s gave up for %s what it holds for %s", node.Name, task, was.task)
		}
	case action == 2:
		x.Release(node.Name, task)
		delete(twin.holds, node.Name)
	default:
		twin.holds[node.Name] = reservation{task: task, amounts: Vector{r.Int64N(8), r.Int64N(8)}}
		err = x.Reserve(node.Name, task, twin.holds[node.Name].amounts)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pick returns up to n nodes that fit the query, best first by the query's policy. The field Free
// of these nodes includes the amounts that are reserved for Query.Task.
func (v ReservingView) pick(query Query, n int) []*Node { return v.AppendPick(nil, query, n) }

// node returns the node with the given name, with the amounts that are free on it for a task. It
// returns nil if there is no such node.
func (v ReservingView) node(name, task string) *Node {
	if e := v.heldByName.find(name); e != nil && e.task == task {
		return &e.Node
	}
	return v.unreserved.node(name)
}

// held returns the nodes with a reservation for a task, in the order of their names. The field Free
// of these nodes has everything that is free on them, including the reserved amounts.
func (v ReservingView) held(task string) []*Node { return appendNodes(nil, v.ownNodes(task)) }

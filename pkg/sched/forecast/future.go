package forecast

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// turn is a pending pod in a simulated future of the cluster, with its run time, and with its node
// if it has started in this future.
type turn struct {
	Waiting
	takes time.Duration // run time; negative if no run time was drawn
	node  int           // index of the node where it has started; -1 if it has not
	holds sched.Holding // what it holds on the node
}

// ends returns the time at which the pod ends if it starts at the time `now`, or zero if the run
// time is unknown.
func (t *turn) ends(now time.Time) time.Time {
	if t.takes < 0 {
		return time.Time{}
	}
	return now.Add(t.takes)
}

// future is a simulated state of the cluster, in which pods run, end and start on nodes. The time
// of the future, which is the field `now`, advances in steps: from the time at which one pod ends
// to the time at which the next pod ends.
type future struct {
	now      time.Time
	nodes    []*sched.Node
	index    map[string]int   // index of each node in the field `nodes`, by name of the node; all futures of a forecast share this map, so it is never changed
	turns    []*turn          // the pending pods, in the order of the queue; the last one is Present.Pod
	waiting  []*turn          // those elements of the field `turns` that have not started
	reserved map[string][]int // for each pod or gang that has nodes reserved, the indexes of these nodes; the key of the map is the result of sched.Pod.Claim, which is the gang's ID or the pod's UID
	running  [][]reservation.AssignedPod
	ends     []end // when the running pods end, the latest time first, so the last element is the next end
	checks   int   // how many more times the future may check whether a pod fits a node
}

// end is the end of a pod.
type end struct {
	at   time.Time
	uid  string
	node int
}

func (e end) compare(other end) int {
	if c := other.at.Compare(e.at); c != 0 {
		return c
	}
	return strings.Compare(other.uid, e.uid)
}

// begin returns a future whose state is the present state of the cluster. Its pods have no run
// times, so its time must not be advanced: the method `next` must not be called.
func begin(present Present) *future {
	f := &future{
		now: present.Now, nodes: slices.Clone(present.Nodes), index: map[string]int{}, reserved: map[string][]int{},
		running: make([][]reservation.AssignedPod, len(present.Nodes)), checks: maxChecks,
	}
	for i, node := range f.nodes {
		f.index[node.Name] = i
		if node.Reserved != nil {
			f.reserved[node.Reserved.UID] = append(f.reserved[node.Reserved.UID], i)
		}
	}
	effort := numaplan.FullEffort // limits the searches for exclusive CPUs, for all pods and all futures together
	for _, w := range append(slices.Clone(present.Ahead), present.Pod) {
		if !w.Waits().Refuses() { // a pod with a reason to wait, such as a quota, never starts
			w.Pod = w.Within(&effort)
			f.turns = append(f.turns, &turn{Waiting: w, takes: -1, node: -1})
		}
	}
	f.waiting = slices.Clone(f.turns)
	for _, r := range present.Running {
		f.run(r, time.Time{})
	}
	return f
}

// future returns a copy of f in which each pod has a run time. It draws these times at random, for
// pending pods in the order of the queue. So the run time of a pending pod does not depend on the
// pods behind this pod in the queue.
func (f *future) future(present Present, d draw, checks int) *future {
	g := &future{
		now: f.now, nodes: slices.Clone(f.nodes), index: f.index, reserved: maps.Clone(f.reserved),
		running: make([][]reservation.AssignedPod, len(f.nodes)), checks: checks,
	}
	for _, r := range present.Running {
		g.run(r, d.ends(r, present.Now))
	}
	for _, turn := range f.turns {
		drawn := *turn
		drawn.takes = d.left(turn.Class, 0)
		g.turns = append(g.turns, &drawn)
		if turn.node < 0 {
			g.waiting = append(g.waiting, &drawn)
			continue
		}
		g.hold(turn.UID, turn.node, turn.holds, drawn.ends(f.now))
	}
	slices.SortFunc(g.ends, end.compare)
	return g
}

// The method `until` advances the future until the last pod of f.turns has started, which is the
// pod whose start is forecast. It returns false if this pod never starts, or if no checks are left.
func (f *future) until() (started bool) {
	for len(f.ends) > 0 && f.checks > 0 {
		if f.serve(f.next()) {
			return true
		}
	}
	return false
}

// next advances the future to the next end of a pod. It returns the indexes of the nodes on which
// pods end at that time.
func (f *future) next() (freed []int) {
	f.now = f.ends[len(f.ends)-1].at
	for len(f.ends) > 0 && f.ends[len(f.ends)-1].at.Equal(f.now) {
		e := f.ends[len(f.ends)-1]
		f.ends = f.ends[:len(f.ends)-1]
		i := slices.IndexFunc(f.running[e.node], func(p reservation.AssignedPod) bool { return p.UID == e.uid })
		f.nodes[e.node] = f.nodes[e.node].Return(f.running[e.node][i].Holding)
		f.running[e.node] = slices.Delete(f.running[e.node], i, i+1)
		if !slices.Contains(freed, e.node) {
			freed = append(freed, e.node)
		}
	}
	return freed
}

// run adds a pod that already runs when the future begins. It ignores the pod if its node is
// unknown.
func (f *future) run(r Running, ends time.Time) {
	if node, ok := f.index[r.Node]; ok {
		f.hold(r.UID, node, r.Holds, ends)
	}
}

// hold adds a running pod, and appends its end to f.ends, which need not be sorted yet. The node's
// record already counts the pod.
func (f *future) hold(uid string, node int, holds sched.Holding, ends time.Time) {
	f.running[node] = append(f.running[node], reservation.AssignedPod{UID: uid, Holding: holds, Ends: ends})
	f.ends = append(f.ends, end{ends, uid, node})
}

// start adds a running pod, and inserts its end into f.ends, which is sorted.
func (f *future) start(uid string, node int, holds sched.Holding, ends time.Time) {
	f.hold(uid, node, holds, ends)
	last := len(f.ends) - 1
	i, _ := slices.BinarySearchFunc(f.ends[:last], f.ends[last], end.compare)
	f.ends = slices.Insert(f.ends[:last], i, f.ends[last])
}

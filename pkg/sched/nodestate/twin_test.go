package nodestate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestTwin makes random changes to a State and to a twin, a simple model of the State. After each
// change it computes all facts from the twin. It compares them with the State, and with what three
// subscribers have computed from the events of the State.
func TestTwin(t *testing.T) {
	for seed := range uint64(20) {
		w := newTwinWorld(t, seed)
		for range 400 {
			did := w.step()
			if diff := cmp.Diff(w.twin.facts(), w.facts()); diff != "" {
				t.Fatalf("seed %d: after %s (-from scratch +got):\n%s", seed, did, diff)
			}
		}
	}
}

// twin is the expected state, in plain maps.
type twin struct {
	nodes    map[string]sched.MilliCPU // CPU of the known nodes, by name
	pods     map[string]twinPod
	reserved map[string]map[string]bool // names of reserved nodes, by pod UID
}

type twinPod struct {
	node, tenant string
	cpu          sched.MilliCPU
	bound        bool
}

// facts are the contents of a state, and what its subscribers computed from its events.
type facts struct {
	Free     map[string]sched.MilliCPU  // free CPU in the nodes' records, by node
	Reserved map[string]string          // UID of the pod with the reservation, by node
	Indexed  []string                   // names of the nodes in a view
	Held     map[string]sched.MilliCPU  // CPU of decided and bound pods, by tenant; this is how quotas count it
	Used     map[string]sched.MilliCPU  // CPU of bound pods only, by tenant; this is how the usage of tenants is counted
	OnNode   map[string]map[string]bool // pods that a subscriber stored in the entry of their node, as the filters do
	Pods     map[string]map[string]bool // pods that State.Assignments returns for the node
}

func newFacts() facts {
	return facts{
		Free: map[string]sched.MilliCPU{}, Reserved: map[string]string{}, Held: map[string]sched.MilliCPU{}, Used: map[string]sched.MilliCPU{},
		OnNode: map[string]map[string]bool{}, Pods: map[string]map[string]bool{},
	}
}

func (tw *twin) facts() facts {
	f := newFacts()
	maps.Copy(f.Free, tw.nodes)
	for uid, pod := range tw.pods {
		if _, known := f.Free[pod.node]; known {
			f.Free[pod.node] -= pod.cpu
		}
		f.Held[pod.tenant] += pod.cpu
		if pod.bound {
			f.Used[pod.tenant] += pod.cpu
		}
		if f.OnNode[pod.node] == nil {
			f.OnNode[pod.node], f.Pods[pod.node] = map[string]bool{}, map[string]bool{}
		}
		f.OnNode[pod.node][uid], f.Pods[pod.node][uid] = true, true
	}
	for uid, nodes := range tw.reserved {
		for node := range nodes {
			f.Reserved[node] = uid
		}
	}
	f.Indexed = slices.Sorted(maps.Keys(tw.nodes))
	return f
}

// twinWorld is a State with subscribers, and the twin (a simple model) of this State.
type twinWorld struct {
	*testing.T
	*rand.Rand
	state      *nodestate.State
	twin       twin
	held, used map[string]*nodestate.Assignment // what subscribers computed, by pod UID
	versions   map[string]sched.Version
}

func newTwinWorld(t *testing.T, seed uint64) *twinWorld {
	w := &twinWorld{
		T: t, Rand: rand.New(rand.NewPCG(seed, 7)), state: nodestatetest.New(t, "cpu", filter.Profile{}),
		twin: twin{map[string]sched.MilliCPU{}, map[string]twinPod{}, map[string]map[string]bool{}},
		held: map[string]*nodestate.Assignment{}, used: map[string]*nodestate.Assignment{}, versions: map[string]sched.Version{},
	}
	w.state.Subscribe(w.hold)
	w.state.Subscribe(w.use, nodestate.Bound, nodestate.Released)
	w.state.Subscribe(w.see)
	return w
}

// hold is a subscriber that collects decided and bound assignments.
func (w *twinWorld) hold(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Placed, nodestate.Bound:
		if w.held[event.UID] != event.Was {
			w.Errorf("pod %s is assigned in place of %v, and held %v", event.UID, event.Was, w.held[event.UID])
		}
		w.held[event.UID] = event.Now
	case nodestate.Released, nodestate.Undone:
		delete(w.held, event.UID)
	}
	if event.Entry != nil && event.Kind != nodestate.NodeChanged && event.Entry.Newest() != event.Node {
		w.Errorf("the record of %s changed before the subscribers knew", event.Entry.Name())
	}
}

// The method `use` is a subscriber that collects bound assignments.
func (w *twinWorld) use(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Bound:
		w.used[event.UID] = event.Now
	case nodestate.Released:
		delete(w.used, event.UID)
	default:
		w.Errorf("an event of kind %d, which has no subscription", event.Kind)
	}
}

// see is a subscriber that stores the UIDs of a node's pods in the node's entry.
func (w *twinWorld) see(event nodestate.Event) {
	if event.Was != nil {
		change(event.Was.Entry(), func(pods map[string]bool) { delete(pods, event.UID) })
	}
	if event.Now != nil {
		change(event.Entry, func(pods map[string]bool) { pods[event.UID] = true })
	}
}

func change(e *nodestate.Entry, how func(map[string]bool)) {
	pods, _ := e.Foreign().(map[string]bool)
	next := map[string]bool{}
	maps.Copy(next, pods)
	how(next)
	e.SetForeign(next)
}

// facts returns what the state and its subscribers contain.
func (w *twinWorld) facts() facts {
	f := newFacts()
	for node := range w.state.View().Nodes() {
		f.Indexed = append(f.Indexed, node.Name)
		f.Free[node.Name] = node.Free.CPU
		if node.Reserved != nil {
			f.Reserved[node.Name] = node.Reserved.UID
		}
		if node.Version < w.versions[node.Name] {
			w.Errorf("the version of %s fell", node.Name)
		}
		w.versions[node.Name] = node.Version
	}
	for e := range w.state.Entries() {
		if pods, _ := e.Foreign().(map[string]bool); len(pods) > 0 {
			f.OnNode[e.Name()] = pods
		}
		for _, a := range w.state.Assignments(e.Name()) {
			if f.Pods[e.Name()] == nil {
				f.Pods[e.Name()] = map[string]bool{}
			}
			f.Pods[e.Name()][a.UID] = true
		}
	}
	for _, a := range w.held {
		f.Held[a.Tenant] += a.CPU
	}
	for _, a := range w.used {
		f.Used[a.Tenant] += a.CPU
	}
	return f
}

// step makes one random change, and returns its description.
func (w *twinWorld) step() string {
	uid, node := fmt.Sprint("p", w.IntN(8)), fmt.Sprint("n", w.IntN(4))
	cpu := sched.MilliCPU(1 + w.IntN(3))
	defer w.checkFreed(w.state.FreedSeq(), w.twin.facts().Free)
	switch w.IntN(8) {
	case 0:
		w.twin.nodes[node] = 10 * cpu
		w.state.SetNode(&sched.Node{Name: node, Allocatable: sched.Amounts{CPU: 10 * cpu}})
		return "node " + node
	case 1:
		delete(w.twin.nodes, node)
		for _, on := range w.twin.reserved {
			delete(on, node)
		}
		w.state.RemoveNode(node)
		return "no node " + node
	case 2:
		w.reserve(uid, node, cpu)
		return "reserve " + uid + " on " + node
	case 3:
		w.twin.end(uid)
		w.state.Release(uid)
		return "release " + uid
	case 4:
		p := w.twin.pods[uid]
		if w.state.Undo(sched.Decision{Pod: &sched.Pod{UID: uid}, At: sched.Placement{Node: p.node}}) != (p.node != "" && !p.bound) {
			w.Errorf("undo %s of %+v", uid, p)
		}
		if !p.bound {
			delete(w.twin.pods, uid)
		}
		return "undo " + uid
	case 5:
		w.adopt(uid, node, cpu)
		return "adopt " + uid + " on " + node
	}
	w.place(uid, node, cpu)
	return "place " + uid + " on " + node
}

func (tw *twin) end(uid string) {
	delete(tw.pods, uid)
	delete(tw.reserved, uid)
}

// reserve reserves the given node, and at random another one, too.
func (w *twinWorld) reserve(uid, node string, cpu sched.MilliCPU) {
	if _, placed := w.twin.pods[uid]; placed {
		return // the test reserves nodes only for pods that are not assigned
	}
	on, ok := map[string]sched.Holding{node: {Amounts: sched.Amounts{CPU: cpu}}}, true
	if w.IntN(2) == 0 {
		on[fmt.Sprint("n", w.IntN(4))] = sched.Holding{Amounts: sched.Amounts{CPU: cpu}}
	}
	names := map[string]bool{}
	for name := range on {
		names[name] = true
		_, known := w.twin.nodes[name]
		ok = ok && known
		for other, reserved := range w.twin.reserved {
			ok = ok && (other == uid || !reserved[name])
		}
	}
	if got := w.state.Reserve(uid, on); got != ok {
		w.Errorf("reserve for %s on %v: %v, want %v", uid, on, got, ok)
	}
	if ok {
		w.twin.reserved[uid] = names
	}
}

func (w *twinWorld) adopt(uid, node string, cpu sched.MilliCPU) {
	delete(w.twin.reserved, uid)
	w.twin.pods[uid] = twinPod{node, "ann", cpu, true}
	w.state.Adopt(nodestate.Assignment{UID: uid, Node: node, Tenant: "ann", Holding: sched.Holding{Amounts: sched.Amounts{CPU: cpu}}})
}

func (w *twinWorld) place(uid, node string, cpu sched.MilliCPU) {
	record := w.state.Record(node)
	if record == nil {
		return
	}
	if w.IntN(4) == 0 {
		record = record.Take(sched.Holding{}) // a record that is not the newest
	}
	_, placed := w.twin.pods[uid]
	seen, narrowed := w.state.NarrowSeq(), w.IntN(8) == 0
	if narrowed {
		w.state.Narrow()
	}
	want := !placed && !narrowed && record == w.state.Record(node)
	pod := &sched.Pod{UID: uid, Tenant: "bob", Requests: sched.Amounts{CPU: cpu}}
	if got := w.state.Place(pod, record, sched.Placement{Node: node}, seen); got != want {
		w.Errorf("place %s on %s: %v, want %v", uid, node, got, want)
	}
	if want {
		delete(w.twin.reserved, uid)
		w.twin.pods[uid] = twinPod{node, "bob", cpu, false}
	}
}

// checkFreed checks that FreedSeq has grown if resources became free.
func (w *twinWorld) checkFreed(before uint64, free map[string]sched.MilliCPU) {
	for node, now := range w.twin.facts().Free {
		if now > free[node] && w.state.FreedSeq() == before {
			w.Errorf("something became free on %s, which FreedSeq does not tell", node)
		}
	}
}

package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// world is a simulated cluster in which groups change, and containers start and end.
type world struct {
	*rand.Rand
	nodes   Nodes
	records []*sched.Node
	groups  []Group
	running map[string]allocation
}

type allocation struct {
	node  int
	gpus  []sched.GPUShare
	whole bool // the container has whole GPUs
}

// newWorld returns a cluster of random nodes with GPUs of two types. Some GPUs are in MIG
// mode.
func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 9)), nodes: Nodes{}, running: map[string]allocation{}}
	for n := range 1 + w.IntN(3) {
		inventory := &gpu.Inventory{}
		for i := range 1 + w.IntN(4) {
			c := gpu.GPU{UUID: fmt.Sprintf("n%d-%d", n, i), Index: i, Model: []string{"A100", "T4"}[w.IntN(2)], MIG: w.IntN(4) == 0}
			if c.MIG {
				c.Slices = []gpu.Slice{{UUID: c.UUID + "-a", Profile: "1g"}, {UUID: c.UUID + "-b", Profile: "1g"}}
			}
			inventory.GPUs = append(inventory.GPUs, c)
		}
		w.nodes[fmt.Sprint("n", n)] = inventory
	}
	w.records = records(w.nodes)
	return w
}

// regroup replaces one group by a random group, if Check accepts the new group.
func (w *world) regroup() {
	g := Group{
		Name: fmt.Sprint("g", w.IntN(4)), Tenants: [][]string{{"a"}, {"b"}, {"a", "b"}}[w.IntN(3)],
		Form: []gpu.Form{gpu.Physical, gpu.Virtual}[w.IntN(2)], Containers: [][]string{nil, nil, {"x"}}[w.IntN(3)],
	}
	for name, node := range w.nodes {
		b := Binding{Node: name}
		for _, unit := range node.Units() {
			if w.IntN(2) == 0 && (g.Form == gpu.Virtual || unit.Form == gpu.Physical) {
				b.GPUs = append(b.GPUs, unit.ID)
			}
		}
		if len(b.GPUs) > 0 {
			g.Bindings = append(g.Bindings, b)
		}
	}
	w.groups = slices.DeleteFunc(w.groups, func(old Group) bool { return old.Name == g.Name })
	if Check(g, w.nodes, nil) == nil {
		w.groups = append(w.groups, g)
	}
}

func (w *world) request() Request {
	a := Request{Tenant: []string{"a", "b"}[w.IntN(2)], Container: []string{"", "x", "y"}[w.IntN(3)]}
	a.Count, a.Milli = 1+w.IntN(3), []sched.MilliGPU{300, 500, 1000, 1000}[w.IntN(4)]
	a.Form = []gpu.Form{gpu.AnyForm, gpu.AnyForm, gpu.Virtual}[w.IntN(3)]
	if w.IntN(3) == 0 {
		a.Types = []string{"A100", "A100-MIG-1g"}
	}
	if w.IntN(5) == 0 {
		a.Group = fmt.Sprint("g", w.IntN(4))
	}
	return a
}

// twin returns the free GPUs of a node that a group can provide for a request, or nil if the group
// does not serve the request. The group "" stands for the GPUs in no group. twin implements the
// rules of Match in a simple way, so that the tests can compare the results of both.
func (w *world) twin(request Request, group string, node *sched.Node) (free []string) {
	serving := w.serving(request)
	if group == "" && len(serving) > 0 || group != "" && !slices.Contains(serving, group) {
		return nil
	}
	for _, g := range node.GPUs {
		holders := w.holders(node.Name, g.ID)
		if group == "" && len(holders) > 0 || group != "" && !slices.Contains(holders, group) {
			continue
		}
		slice := g.Type == "A100-MIG-1g" || g.Type == "T4-MIG-1g"
		wantsPart := request.Form == gpu.Virtual || request.Milli < 1000
		need := sched.MilliGPU(1000)
		if wantsPart && !slice {
			need = request.Milli
		}
		if wantsPart == (slice || need < 1000) && g.Free >= need && (request.Types == nil || slices.Contains(request.Types, g.Type)) {
			free = append(free, g.ID)
		}
	}
	return free
}

// serving returns the names of the groups that serve a request, or nil if there is none. It
// is a simple version of Grouping.Match for comparison.
func (w *world) serving(request Request) []string {
	byName, byContainer, any := []string(nil), []string(nil), []string(nil)
	for _, group := range w.groups {
		wantsPart := request.Form == gpu.Virtual || request.Milli < 1000
		for _, tenant := range group.Tenants {
			if tenant != request.Tenant || wantsPart != (group.Form == gpu.Virtual) || group.Containers != nil && !slices.Contains(group.Containers, request.Container) {
				continue
			}
			switch {
			case group.Name == request.Group:
				byName = []string{group.Name}
			case group.Containers != nil:
				byContainer = append(byContainer, group.Name)
			default:
				any = append(any, group.Name)
			}
		}
	}
	switch {
	case request.Group != "":
		return append(byName, "named")[:max(1, len(byName))]
	case len(byContainer) > 0:
		return byContainer
	}
	return any
}

func (w *world) holders(node, id string) (names []string) {
	for _, group := range w.groups {
		for _, b := range group.Bindings {
			if b.Node == node && slices.Contains(b.GPUs, id) {
				names = append(names, group.Name)
			}
		}
	}
	return names
}

// come starts a container: it gets an offer from Match.Best, and marks the requested number of the
// offered GPUs as used. It checks that the offer has the GPUs that twin returns for the offer's
// group and node. No other pair of group and node may have fewer free GPUs, unless it has too few
// for the request.
func (w *world) come(t *testing.T, uid string, request Request) {
	least := -1
	for _, record := range w.records {
		for _, group := range []string{"", "g0", "g1", "g2", "g3"} {
			if over := len(w.twin(request, group, record)) - request.Count; over >= 0 && (least < 0 || over < least) {
				least = over
			}
		}
	}
	m, err := New(w.groups, w.nodes).Match(request)
	var o GPUOffer
	if err == nil {
		o, err = m.Best(w.records)
	}
	if (err == nil) != (least >= 0) || err == nil && o.Over != least {
		t.Fatalf("%+v of %+v: offer %+v, %v; the twin has %d over", request, w.groups, o, err, least)
	}
	if err != nil {
		return
	}
	at := slices.IndexFunc(w.records, func(node *sched.Node) bool { return node.Name == o.Node })
	var ids []string
	for _, g := range o.GPUs {
		ids = append(ids, g.ID)
	}
	if only := m.Nodes(); only != nil && !slices.Contains(only, o.Node) {
		t.Fatalf("%+v of %+v: offer on %s, which is none of %v", request, w.groups, o.Node, only)
	}
	if want := w.twin(request, o.Group, w.records[at]); !slices.Equal(ids, want) {
		t.Fatalf("%+v of %+v: offer of group %q %v, want %v", request, w.groups, o.Group, ids, want)
	}
	taken := o.GPUs[:request.Count]
	w.records[at] = w.records[at].Take(sched.Holding{GPUs: taken})
	w.running[uid] = allocation{at, taken, request.Form != gpu.Virtual && request.Milli == sched.WholeGPU}
}

func (w *world) leave(uid string) {
	if s, runs := w.running[uid]; runs {
		w.records[s.node] = w.records[s.node].Return(sched.Holding{GPUs: s.gpus})
		delete(w.running, uid)
	}
}

// mixed returns a GPU that is wrongly allocated: both whole and in parts, or beyond its
// capacity. It returns "" if there is none.
func (w *world) mixed() string {
	whole, parts := map[string]int{}, map[string]int{}
	for _, s := range w.running {
		for _, gpu := range s.gpus {
			device := gpu.ID[:len("n0-0")]
			if s.whole {
				whole[device]++
			} else {
				parts[device]++
			}
		}
	}
	for device, n := range whole {
		if n > 1 || parts[device] > 0 {
			return device
		}
	}
	for _, record := range w.records {
		for _, g := range record.GPUs {
			if g.Free < 0 {
				return g.ID
			}
		}
	}
	return ""
}

// TestTwin makes 60 random changes to each of 60 random clusters. It checks each answer of
// Match and Best against twin, and that no GPU is allocated twice.
func TestTwin(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(seed)
		for i := range 60 {
			switch uid := fmt.Sprint("u", w.IntN(8)); {
			case i%5 == 0:
				w.regroup()
			case w.IntN(3) == 0:
				w.leave(uid)
			default:
				w.leave(uid)
				w.come(t, uid, w.request())
			}
			if device := w.mixed(); device != "" {
				t.Fatalf("seed %d, step %d: %s is given whole and in parts, or too often", seed, i, device)
			}
		}
	}
}

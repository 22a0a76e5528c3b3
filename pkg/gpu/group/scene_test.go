package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// TestScenarios runs the commands of testdata/*.txt and compares what they print. The
// commands are:
//
//	node n1 4 [mig=2] [model=T4]     adds a node with GPUs n1-0 … n1-3; mig: GPU n1-2 has two slices, n1-2-a and n1-2-b
//	forbid n1-2                      withdraws all permissions for the GPU
//	shown                            prints the GPUs for which permissions exist
//	group g tenants=a form=physical [type=T4] [containers=x] [quota=1000] n1=0,1 n2=n2-3
//	drop g                           removes the group
//	ask u a 2 [milli=500] [form=virtual] [type=T4] [group=g] [container=x]
//	                                 pod u of tenant a requests 2 GPUs; prints which it gets
//	together 3 a 2 [type=T4] [group=g]
//	                                 prints whether the limits allow three pods of tenant a
//	                                 with 2 GPUs each to start together
//	end u                            ends pod u
//	limit a 2000 [type=T4] [group=g]
//	                                 lets tenant a hold 2000 thousandths of a GPU; prints how much
//	                                 it can still get
//	plan 2,1,2,3 [form=virtual]      proposes groups; "confirm a" then creates them
//	show                             prints how much of each GPU is free, in thousandths
type scene struct {
	t         *testing.T
	nodes     Nodes
	records   []*sched.Node
	forbidden map[string]bool
	groups    []Group
	quotas    *Quotas
	running   map[string]sched.Holding
	where     map[string]int
	estimate  Estimate
	proposal  Proposal
}

func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, _ *scenario.Answer) scenario.Commands {
		s := &scene{t: t, nodes: Nodes{}, forbidden: map[string]bool{}, quotas: NewQuotas(), running: map[string]sched.Holding{}, where: map[string]int{}}
		return scenario.Commands{
			"node": s.node, "forbid": s.forbid, "shown": s.shown, "group": s.group, "drop": s.drop, "ask": s.request, "together": s.together, "end": s.end,
			"limit": s.limit, "plan": s.plan, "confirm": s.confirm, "show": s.show,
		}
	})
}

func (s *scene) form(c *scenario.Command) gpu.Form {
	if !c.Has("form") {
		return gpu.AnyForm
	}
	f, err := gpu.ParseForm(c.Value("form"))
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *scene) node(c *scenario.Command) {
	name := c.Arg(0)
	v, record := &gpu.Inventory{}, &sched.Node{Name: name}
	for i := range c.Int(1) {
		device := gpu.GPU{UUID: fmt.Sprintf("%s-%d", name, i), Index: i, Model: cmp.Or(c.Value("model"), "A100")}
		if c.IntValue("mig", -1) == i {
			device.MIG = true
			device.Slices = []gpu.Slice{{UUID: device.UUID + "-a", Profile: "1g.10gb"}, {UUID: device.UUID + "-b", Profile: "1g.10gb"}}
		}
		v.GPUs = append(v.GPUs, device)
	}
	for _, unit := range v.Units() {
		record.GPUs = append(record.GPUs, sched.GPU{ID: unit.ID, Type: unit.Type, Free: sched.WholeGPU})
	}
	s.nodes[name], s.records = v, append(s.records, record)
}

func (s *scene) forbid(c *scenario.Command) { s.forbidden[c.Arg(0)] = true }

func (s *scene) may(_, id string) bool { return !s.forbidden[id] }

func (s *scene) shown(c *scenario.Command) {
	for _, record := range s.records {
		if v := s.nodes.For(s.may)[record.Name]; v != nil {
			c.Line("%s: %s", record.Name, strings.TrimPrefix(listed(v), "one of "))
		}
	}
}

func (s *scene) group(c *scenario.Command) {
	g := Group{
		Name: c.Arg(0), Tenants: c.List("tenants"), Form: s.form(c), Type: c.Value("type"), Containers: c.List("containers"),
		Quota: sched.MilliGPU(c.IntValue("quota", 0)),
	}
	for _, key := range []string{"n1", "n2", "n3", "nowhere"} {
		if c.Has(key) {
			g.Bindings = append(g.Bindings, Binding{key, c.List(key)})
		}
	}
	s.accept(c, g)
}

func (s *scene) accept(c *scenario.Command, g Group) {
	if refusals := Check(g, s.nodes, s.may); len(refusals) > 0 {
		explain(c, refusals...)
		return
	}
	s.remove(g.Name)
	s.groups = append(s.groups, g)
	for scope, most := range g.Limits() {
		s.quotas.Limit(scope, most)
	}
}

func explain(c *scenario.Command, refusals ...*GPURefusal) {
	for _, refusal := range refusals {
		c.Line("%s: %s", refusal.Reason, refusal)
	}
}

func (s *scene) drop(c *scenario.Command) { s.remove(c.Arg(0)) }

func (s *scene) remove(group string) {
	s.groups = slices.DeleteFunc(s.groups, func(g Group) bool { return g.Name == group })
}

func (s *scene) request(c *scenario.Command) {
	a := Request{Tenant: c.Arg(1), Group: c.Value("group"), Container: c.Value("container"), Form: s.form(c)}
	a.Count, a.Milli, a.Types = c.Int(2), sched.MilliGPU(c.IntValue("milli", int(sched.WholeGPU))), c.List("type")
	offer, err := s.serve(c.Arg(0), a)
	if err != nil {
		explain(c, err.(*GPURefusal))
		return
	}
	c.Line("%s gets %s", c.Arg(0), offer)
}

// serve finds the best offer for a request. Of the offered GPUs, the pod gets the first ones, as
// many as it requests.
func (s *scene) serve(uid string, request Request) (string, error) {
	m, err := New(s.groups, s.nodes).Match(request)
	if err != nil {
		return "", err
	}
	offer, err := m.Best(s.records)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(s.records, func(node *sched.Node) bool { return node.Name == offer.Node })
	h := sched.Holding{GPUs: offer.GPUs[:request.Count]}
	var charges []QuotaCharge
	text := fmt.Sprintf("of group %q", offer.Group)
	for _, gpu := range h.GPUs {
		at := slices.IndexFunc(s.records[i].GPUs, func(device sched.GPU) bool { return device.ID == gpu.ID })
		charges = append(charges, QuotaCharge{s.records[i].GPUs[at].Type, offer.Group, gpu.Milli})
		text += fmt.Sprintf(" %s:%d", gpu.ID, gpu.Milli)
	}
	if err := s.quotas.Check(request.Tenant, charges); err != nil {
		return "", err
	}
	s.quotas.Charge(uid, request.Tenant, charges)
	s.records[i] = s.records[i].Take(h)
	s.running[uid], s.where[uid] = h, i
	return text, nil
}

func (s *scene) together(c *scenario.Command) {
	dues := make([]PendingCharge, c.Int(0))
	for i := range dues {
		dues[i] = PendingCharge{fmt.Sprint("pod-", i), c.Arg(1), QuotaCharge{c.Value("type"), c.Value("group"), sched.WholeGPU * sched.MilliGPU(c.Int(2))}}
	}
	if err := s.quotas.Together(dues, len(dues)); err != nil {
		explain(c, err.(*GPURefusal))
		return
	}
	c.Line("they may")
}

func (s *scene) end(c *scenario.Command) {
	uid := c.Arg(0)
	i := s.where[uid]
	s.records[i] = s.records[i].Return(s.running[uid])
	delete(s.running, uid)
	s.quotas.Return(uid)
}

func (s *scene) limit(c *scenario.Command) {
	scope := Scope{c.Arg(0), c.Value("type"), c.Value("group")}
	s.quotas.Limit(scope, sched.MilliGPU(c.Int(1)))
	left, _ := s.quotas.Left(scope)
	c.Line("%s: %d left", scope, left)
}

func (s *scene) plan(c *scenario.Command) {
	s.estimate = Estimate{Form: gpu.Physical, Type: c.Value("type")}
	if c.Has("form") {
		s.estimate.Form = s.form(c)
	}
	for _, text := range strings.Split(c.Arg(0), ",") {
		container, count, named := strings.Cut(text, ":")
		if !named {
			container, count = "", text
		}
		s.estimate.Demands = append(s.estimate.Demands, Demand{container, scenario.Int(count)})
	}
	var err error
	if s.proposal, err = Propose(s.nodes, s.estimate, s.may); err != nil {
		explain(c, err.(*GPURefusal))
		return
	}
	for _, group := range s.proposal.Groups {
		shared := ""
		if group.Share {
			shared = " (shared)"
		}
		c.Line("%d%s: %s%s", group.Demand.GPUs, group.Container, strings.Join(group.GPUs, " "), shared)
	}
	for _, d := range s.proposal.Unplaced {
		c.Line("%d%s: nowhere", d.GPUs, d.Container)
	}
}

func (s *scene) confirm(c *scenario.Command) {
	for i, group := range s.proposal.Groups {
		s.accept(c, group.Group(fmt.Sprintf("%s-%d", c.Arg(0), i+1), c.Arg(0), s.estimate))
	}
}

func (s *scene) show(c *scenario.Command) {
	for _, record := range s.records {
		fmt.Fprintf(c, "%s:", record.Name)
		for _, gpu := range record.GPUs {
			fmt.Fprintf(c, " %s=%d", strings.TrimPrefix(gpu.ID, record.Name+"-"), gpu.Free)
		}
		c.Line("")
	}
}

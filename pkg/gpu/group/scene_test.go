package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// TestScenarios walks through testdata/*.txt:
//
//	node n1 4 [mig=2] [model=T4]     cards n1-0 … n1-3; mig: that card has two slices, n1-2-a and n1-2-b
//	forbid n1-2                      nobody has a right to that card
//	shown                            the GPUs that may be grouped
//	group g tenants=a form=physical [type=T4] [containers=x] [quota=1000] n1=0,1 n2=n2-3
//	drop g
//	ask u a 2 [milli=500] [form=virtual] [type=T4] [group=g] [container=x]
//	together 3 a 2 [type=T4] [group=g]   whether three pods, each of which asks for so many, may start together
//	end u
//	limit a 2000 [type=T4] [group=g]
//	plan 2,1,2,3 [form=virtual]      and, without refusals, "confirm a" makes the groups
//	show                             who uses what
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
	scenario.Walk(t, func() scenario.Scene {
		return &scene{t: t, nodes: Nodes{}, forbidden: map[string]bool{}, quotas: NewQuotas(), running: map[string]sched.Holding{}, where: map[string]int{}}
	})
}

func (s *scene) Run(command []string) string {
	verbs := map[string]func([]string, options) string{
		"node": s.node, "forbid": s.forbid, "shown": s.shown, "group": s.group, "drop": s.drop, "ask": s.ask, "together": s.together, "end": s.end,
		"limit": s.limit, "plan": s.plan, "confirm": s.confirm, "show": s.show,
	}
	words, o := split(command[1:])
	return verbs[command[0]](words, o)
}

// options are the words with an "=".
type options map[string]string

func split(words []string) ([]string, options) {
	var plain []string
	o := options{}
	for _, w := range words {
		if key, value, found := strings.Cut(w, "="); found {
			o[key] = value
		} else {
			plain = append(plain, w)
		}
	}
	return plain, o
}

func (o options) list(key string) []string {
	if o[key] == "" {
		return nil
	}
	return strings.Split(o[key], ",")
}

func (s *scene) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *scene) form(o options) gpu.Form {
	if o["form"] == "" {
		return gpu.AnyForm
	}
	f, err := gpu.ParseForm(o["form"])
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *scene) node(words []string, o options) string {
	v, record := &gpu.Inventory{}, &sched.Node{Name: words[0]}
	model := o["model"]
	if model == "" {
		model = "A100"
	}
	for i := range s.number(words[1]) {
		c := gpu.Card{UUID: fmt.Sprintf("%s-%d", words[0], i), Index: i, Model: model}
		if o["mig"] == strconv.Itoa(i) {
			c.MIG = true
			c.Slices = []gpu.Slice{{UUID: c.UUID + "-a", Profile: "1g.10gb"}, {UUID: c.UUID + "-b", Profile: "1g.10gb"}}
		}
		v.Cards = append(v.Cards, c)
	}
	for _, u := range v.Units() {
		record.GPUs = append(record.GPUs, sched.GPU{ID: u.ID, Type: u.Type, Free: sched.WholeGPU})
	}
	s.nodes[words[0]], s.records = v, append(s.records, record)
	return ""
}

func (s *scene) forbid(words []string, _ options) string {
	s.forbidden[words[0]] = true
	return ""
}

func (s *scene) may(_, id string) bool { return !s.forbidden[id] }

func (s *scene) shown([]string, options) string {
	var b strings.Builder
	for _, r := range s.records {
		if v := s.nodes.For(s.may)[r.Name]; v != nil {
			fmt.Fprintf(&b, "%s: %s\n", r.Name, strings.TrimPrefix(listed(v), "one of "))
		}
	}
	return b.String()
}

func (s *scene) group(words []string, o options) string {
	g := Group{Name: words[0], Tenants: o.list("tenants"), Form: s.form(o), Type: o["type"], Containers: o.list("containers")}
	if o["quota"] != "" {
		g.Quota = sched.MilliGPU(s.number(o["quota"]))
	}
	for _, key := range []string{"n1", "n2", "n3", "nowhere"} {
		if _, named := o[key]; named {
			g.Bindings = append(g.Bindings, Binding{key, o.list(key)})
		}
	}
	return s.accept(g)
}

func (s *scene) accept(g Group) string {
	if refusals := Check(g, s.nodes, s.may); len(refusals) > 0 {
		return said(refusals)
	}
	s.drop([]string{g.Name}, nil)
	s.groups = append(s.groups, g)
	for scope, most := range g.Limits() {
		s.quotas.Limit(scope, most)
	}
	return ""
}

func said(refusals []*Refusal) string {
	var b strings.Builder
	for _, r := range refusals {
		fmt.Fprintf(&b, "%s: %s\n", r.Reason, r)
	}
	return b.String()
}

func (s *scene) drop(words []string, _ options) string {
	s.groups = slices.DeleteFunc(s.groups, func(g Group) bool { return g.Name == words[0] })
	return ""
}

func (s *scene) ask(words []string, o options) string {
	a := Ask{Tenant: words[1], Group: o["group"], Container: o["container"], Form: s.form(o)}
	a.Count, a.Milli, a.Types = s.number(words[2]), sched.WholeGPU, o.list("type")
	if o["milli"] != "" {
		a.Milli = sched.MilliGPU(s.number(o["milli"]))
	}
	offer, err := s.serve(words[0], a)
	if err != nil {
		return said([]*Refusal{err.(*Refusal)})
	}
	return fmt.Sprintf("%s gets %s\n", words[0], offer)
}

// serve takes the best offer and the first GPUs of it.
func (s *scene) serve(uid string, a Ask) (string, error) {
	m, err := New(s.groups, s.nodes).Match(a)
	if err != nil {
		return "", err
	}
	offer, err := m.Best(s.records)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(s.records, func(n *sched.Node) bool { return n.Name == offer.Node })
	h := sched.Holding{GPUs: offer.GPUs[:a.Count]}
	var charges []Charge
	text := fmt.Sprintf("of group %q", offer.Group)
	for _, g := range h.GPUs {
		at := slices.IndexFunc(s.records[i].GPUs, func(card sched.GPU) bool { return card.ID == g.ID })
		charges = append(charges, Charge{s.records[i].GPUs[at].Type, offer.Group, g.Milli})
		text += fmt.Sprintf(" %s:%d", g.ID, g.Milli)
	}
	if err := s.quotas.Check(a.Tenant, charges); err != nil {
		return "", err
	}
	s.quotas.Charge(uid, a.Tenant, charges)
	s.records[i] = s.records[i].Take(h)
	s.running[uid], s.where[uid] = h, i
	return text, nil
}

func (s *scene) together(words []string, o options) string {
	dues := make([]Due, s.number(words[0]))
	for i := range dues {
		dues[i] = Due{fmt.Sprint("pod-", i), words[1], Charge{o["type"], o["group"], sched.WholeGPU * sched.MilliGPU(s.number(words[2]))}}
	}
	if err := s.quotas.Together(dues, len(dues)); err != nil {
		return said([]*Refusal{err.(*Refusal)})
	}
	return "they may\n"
}

func (s *scene) end(words []string, _ options) string {
	i := s.where[words[0]]
	s.records[i] = s.records[i].Return(s.running[words[0]])
	delete(s.running, words[0])
	s.quotas.Return(words[0])
	return ""
}

func (s *scene) limit(words []string, o options) string {
	scope := Scope{words[0], o["type"], o["group"]}
	s.quotas.Limit(scope, sched.MilliGPU(s.number(words[1])))
	left, _ := s.quotas.Left(scope)
	return fmt.Sprintf("%s: %d left\n", scope, left)
}

func (s *scene) plan(words []string, o options) string {
	s.estimate = Estimate{Form: gpu.Physical, Type: o["type"]}
	if o["form"] != "" {
		s.estimate.Form = s.form(o)
	}
	for _, text := range strings.Split(words[0], ",") {
		container, count, named := strings.Cut(text, ":")
		if !named {
			container, count = "", text
		}
		s.estimate.Demands = append(s.estimate.Demands, Demand{container, s.number(count)})
	}
	var err error
	if s.proposal, err = Propose(s.nodes, s.estimate, s.may); err != nil {
		return said([]*Refusal{err.(*Refusal)})
	}
	var b strings.Builder
	for _, g := range s.proposal.Groups {
		fmt.Fprintf(&b, "%d%s: %s", g.Demand.GPUs, g.Container, strings.Join(g.GPUs, " "))
		if g.Share {
			b.WriteString(" (shared)")
		}
		b.WriteString("\n")
	}
	for _, d := range s.proposal.Unplaced {
		fmt.Fprintf(&b, "%d%s: nowhere\n", d.GPUs, d.Container)
	}
	return b.String()
}

func (s *scene) confirm(words []string, _ options) string {
	var said strings.Builder
	for i, p := range s.proposal.Groups {
		said.WriteString(s.accept(p.Group(fmt.Sprintf("%s-%d", words[0], i+1), words[0], s.estimate)))
	}
	return said.String()
}

func (s *scene) show([]string, options) string {
	var b strings.Builder
	for _, n := range s.records {
		fmt.Fprintf(&b, "%s:", n.Name)
		for _, g := range n.GPUs {
			fmt.Fprintf(&b, " %s=%d", strings.TrimPrefix(g.ID, n.Name+"-"), g.Free)
		}
		b.WriteString("\n")
	}
	return b.String()
}

package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestScenarios runs the commands in testdata/*.txt and compares the output. The commands are:
//
//	node n1 A100 4 [sliced]           adds a node with the 4 GPUs n1-0, n1-1, …; sliced: these are MIG slices, each of a different GPU
//	gone node|group NAME              deletes the object
//	right ann n1 | right ann n1-0     permits a tenant to use a node or a GPU
//	right carl tenant:ann             permits an author of groups to use a tenant
//	wrong ann n1                      withdraws a permission that the command `right` has given
//	bug                               makes each check of a permission panic, until the command `speech`
//	silence | speech                  makes checks of permissions fail | makes them work again
//	group g ann,bob n1=0,1 n2=n2-3    adds or changes a group of tenants, with GPUs by node: their indexes or UUIDs; options: type=T4, quota=2,
//	                                  form=virtual (parts of GPUs; default: physical), enforcement=advisory (nodes do not enforce the group),
//	                                  author=carl, was=true (its status says that this spec was accepted)
//	remake g ann n1=0                 deletes the group, and creates it again at once
//	again                             creates a new registry, which gets all objects
//	give u ann g 1500                 assigns 1,500 thousandths of a GPU (1.5 GPUs) of the group g to the pod u of the tenant ann
//	end u                             ends the pod u
//	quota ann T4=2                    sets the quotas of a tenant
//	limited ann                       prints whether a tenant has a quota
//	show                              prints the statuses of the groups
//	offer ann n1                      prints the GPUs of a node that a pod with one GPU may get
//
// The output has the verdicts on groups. When a pod that counted for the usage of its tenant has
// ended, the output names the tenant.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands { return newScene(t, out).commands() })
}

type scene struct {
	t        *testing.T
	registry *Registry
	state    *nodestate.State // has one node, host, with one GPU
	quotas   *Quotas
	objects  map[string]*v1alpha1.GPUGroup
	nodes    map[string]*v1alpha1.NodeTopology
	rights   map[string]bool // what a tenant or an author may use: the GPUs of a node ("ann n1"), one GPU ("ann n1-0"), or a tenant ("ann tenant:bob")
	silent   bool
	bug      bool
	out      *scenario.Answer
}

func newScene(t *testing.T, out *scenario.Answer) *scene {
	s := &scene{t: t, out: out, objects: map[string]*v1alpha1.GPUGroup{}, nodes: map[string]*v1alpha1.NodeTopology{}, rights: map[string]bool{}}
	s.state = nodestatetest.New(t, "cpu", filter.Profile{})
	s.quotas = NewQuotas(s.state.Visit, func(tenant string) { out.Line("freed: %s", tenant) }, func() {})
	s.state.Subscribe(s.quotas.Observe)
	s.state.SetNode(&sched.Node{Name: "host", GPUs: []sched.GPU{{ID: "gpu", Type: "A100"}}})
	s.fresh()
	return s
}

func (s *scene) fresh() {
	panicked := func(object string, cause any) { s.out.Line("%s: %v", object, cause) }
	s.registry = NewRegistry(Dependencies{Allowed: s.allowed, Authors: authors{s}, Report: s.verdict, Panicked: panicked})
	s.registry.OnChange(s.quotas.SetGroups)
	s.registry.OnChange(func(groups []group.Group) { s.out.Line("accepted: %d", len(groups)) })
}

func (s *scene) allowed(_ context.Context, tenant, node, id string) (bool, error) {
	if s.bug {
		panic("a bug")
	}
	if s.silent {
		return false, errors.New("no answer")
	}
	return s.rights[tenant+" "+node] || s.rights[tenant+" "+id], nil
}

// authors implements Authors: it answers from scene.rights which tenants and GPUs an author may
// use.
type authors struct{ *scene }

func (a authors) UsesTenant(ctx context.Context, who Subject, tenant string) (bool, error) {
	return a.allowed(ctx, who.User, "tenant:"+tenant, "")
}

func (a authors) UsesGPU(ctx context.Context, who Subject, node, id string) (bool, error) {
	return a.allowed(ctx, who.User, node, id)
}

func (s *scene) verdict(v Verdict) {
	s.out.Line("%s: %v %s: %s", v.Name, v.Accepted, v.Reason, v.Message)
	object := s.objects[v.Name]
	object.Status = status(object.Status, v, s.quotas.Holders(v.Name), metav1.Unix(0, 0))
}

// commands returns the commands of the scenario files. After each command, the registry checks all
// groups.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"node": s.node, "gone": s.gone, "group": s.group, "remake": s.remake, "again": s.again, "give": s.give, "quota": s.quota, "show": s.show, "offer": s.offer,
		"right":   func(c *scenario.Command) { s.rights[c.Arg(0)+" "+c.Arg(1)] = true },
		"wrong":   func(c *scenario.Command) { delete(s.rights, c.Arg(0)+" "+c.Arg(1)) },
		"silence": func(*scenario.Command) { s.silent = true },
		"bug":     func(*scenario.Command) { s.bug = true },
		"speech":  func(*scenario.Command) { s.silent, s.bug = false, false },
		"end":     func(c *scenario.Command) { s.state.Release(c.Arg(0)) },
		"limited": func(c *scenario.Command) { c.Line("%v", s.quotas.Limited(c.Arg(0))) },
	}.After(func(*scenario.Command) { s.registry.checkGroups(s.t.Context(), true) })
}

func (s *scene) node(c *scenario.Command) {
	name, model := c.Arg(0), c.Arg(1)
	topology := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := range c.Int(2) {
		g := v1alpha1.GPU{ID: fmt.Sprintf("%s-%d", name, i), Index: int32(i), Model: model, Form: "physical"}
		if c.Has("sliced") {
			g.Form, g.Parent, g.Type = "virtual", fmt.Sprintf("%s-gpu-%d", name, i), model+"-MIG-1g.10gb"
		}
		topology.Status.GPUs = append(topology.Status.GPUs, g)
	}
	s.nodes[name] = topology
	s.registry.SetNode(topology)
}

func (s *scene) gone(c *scenario.Command) {
	if name := c.Arg(1); c.Arg(0) == "node" {
		s.registry.RemoveNode(s.nodes[name])
		delete(s.nodes, name)
	} else {
		s.removeGroup(name)
	}
}

func (s *scene) removeGroup(name string) {
	s.registry.RemoveGroup(s.objects[name])
	delete(s.objects, name)
}

func (s *scene) group(c *scenario.Command) {
	name := c.Arg(0)
	g := &v1alpha1.GPUGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	if old := s.objects[name]; old != nil {
		g.Generation, g.Status = old.Generation+1, old.Status
	}
	g.Spec = v1alpha1.GPUGroupSpec{Tenants: strings.Split(c.Arg(1), ","), Form: "physical"}
	for key, value := range c.Values() {
		switch key {
		case "author":
			g.Annotations = map[string]string{v1alpha1.AnnotationAuthor: value}
		case "enforcement":
			g.Spec.Enforcement = value
		case "form":
			g.Spec.Form = value
		case "type":
			g.Spec.Type = value
		case "quota":
			quantity := resource.MustParse(value)
			g.Spec.Quota = &quantity
		default:
			g.Spec.Nodes = append(g.Spec.Nodes, v1alpha1.GPUGroupNode{Name: key, GPUs: strings.Split(value, ",")})
		}
	}
	s.objects[name] = g
	s.registry.SetGroup(g)
}

func (s *scene) remake(c *scenario.Command) {
	s.removeGroup(c.Arg(0))
	s.group(c)
	s.objects[c.Arg(0)].UID = "another"
}

func (s *scene) again(*scenario.Command) {
	s.fresh()
	for _, node := range s.nodes {
		s.registry.SetNode(node)
	}
	for _, object := range s.objects {
		s.registry.SetGroup(object)
	}
}

func (s *scene) give(c *scenario.Command) {
	host := s.state.Record("host")
	d := sched.Decision{Pod: &sched.Pod{UID: c.Arg(0), Tenant: c.Arg(1)}, At: sched.Placement{
		Node: host.Name, GPUGroup: c.Arg(2), GPUs: []sched.GPUShare{{ID: "gpu", Milli: sched.MilliGPU(c.Int(3))}},
	}}
	if err := s.quotas.Check(d, host); err != nil {
		c.Error(err)
		return
	}
	if !s.state.Place(d.Pod, host, d.At, s.state.NarrowSeq()) {
		c.Line("it is assigned already")
	}
}

func (s *scene) offer(c *scenario.Command) {
	match, err := s.registry.Match(group.Request{Tenant: c.Arg(0), Form: gpu.Physical, GPURequest: sched.GPURequest{Count: 1, Milli: sched.WholeGPU}})
	if err != nil {
		c.Error(err)
		return
	}
	node := &sched.Node{Name: c.Arg(1)}
	for _, g := range s.nodes[c.Arg(1)].Status.GPUs {
		node.GPUs = append(node.GPUs, sched.GPU{ID: g.ID, Type: g.Model, Free: sched.WholeGPU})
	}
	offer, ok := match.On(node)
	if !ok {
		c.Line("none of %s", match)
		return
	}
	var ids []string
	for _, device := range offer.GPUs {
		ids = append(ids, device.ID)
	}
	c.Line("%s of %s", strings.Join(ids, " "), match)
}

func (s *scene) quota(c *scenario.Command) {
	quotas := map[string]resource.Quantity{}
	for kind, most := range c.Values() {
		quotas[kind] = resource.MustParse(most)
	}
	changed := s.quotas.SetTenant(c.Arg(0), quotas)
	c.Line("changed: %v", changed)
}

func (s *scene) show(c *scenario.Command) {
	for _, name := range []string{"g", "h"} {
		object := s.objects[name]
		if object == nil {
			continue
		}
		v := s.registry.verdicts[name]
		object.Status = status(object.Status, v, s.quotas.Holders(name), metav1.NewTime(time.Unix(1, 0)))
		c.Line("%s: generation %d, %d GPUs, %s used", name, object.Status.ObservedGeneration, object.Status.GPUs, object.Status.Used)
		for _, condition := range object.Status.Conditions {
			c.Line("  %s: %s since %d, %s: %s", condition.Type, condition.Status, condition.LastTransitionTime.Unix(), condition.Reason, condition.Message)
		}
		for _, u := range object.Status.Usage {
			c.Line("  %s has %s", u.Tenant, &u.GPUs)
		}
	}
}

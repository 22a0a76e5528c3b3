package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestScenarios walks through testdata/*.txt:
//
//	node n1 A100 4 [sliced]           the node has so many cards n1-0 …; sliced: each is one slice
//	gone node|group NAME              there is none any more
//	right ann n1 | right ann n1-0     the tenant may use the node, or the card
//	wrong ann n1                      it may no longer
//	silence | speech                  nobody answers who may what; somebody does again
//	group g ann,bob n1=0,1 n2=n2-3    the group is so now; form=virtual, type=T4, quota=2, was=true: it said so itself
//	remake g ann n1=0                 it is deleted, and made again at once
//	again                             a fresh keeper is told all that there is
//	give u ann g 1500                 so many thousandths of the group's GPUs
//	quota ann T4=2 | end u | limited ann
//	show                              what the groups say
//
// The answers are what is said of groups, and who may hold more than before.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return newScene(t) })
}

type scene struct {
	t       *testing.T
	keeper  *Keeper
	quotas  *Quotas
	objects map[string]*v1alpha1.GPUGroup
	nodes   map[string]*v1alpha1.NodeTopology
	rights  map[string]bool // "ann n1"
	silent  bool
	said    []string
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, objects: map[string]*v1alpha1.GPUGroup{}, nodes: map[string]*v1alpha1.NodeTopology{}, rights: map[string]bool{}}
	s.quotas = NewQuotas(func(tenant string) { s.say("freed: %s", tenant) }, func() {})
	s.fresh()
	return s
}

func (s *scene) fresh() {
	s.keeper = New(Env{May: s.may, Said: s.verdict, Changed: func(groups []group.Group) {
		s.quotas.SetGroups(groups)
		s.say("in force: %d", len(groups))
	}})
}

func (s *scene) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...)+"\n")
}

func (s *scene) may(_ context.Context, tenant, node, id string) (bool, error) {
	if s.silent {
		return false, errors.New("no answer")
	}
	return s.rights[tenant+" "+node] || s.rights[tenant+" "+id], nil
}

func (s *scene) verdict(v Verdict) {
	s.say("%s: %v %s: %s", v.Name, v.Accepted, v.Reason, v.Message)
	object := s.objects[v.Name]
	object.Status = status(object.Status, v, s.quotas.Holders(v.Name), metav1.Unix(0, 0))
}

func (s *scene) Run(command []string) string {
	verbs := map[string]func([]string){
		"node": s.node, "gone": s.gone, "right": s.right, "wrong": s.wrong, "silence": s.silence, "speech": s.speech,
		"group": s.group, "remake": s.remake, "again": s.again, "give": s.give, "quota": s.quota, "end": s.end, "limited": s.limited, "show": s.show,
	}
	s.said = nil
	verbs[command[0]](command[1:])
	s.keeper.look(s.t.Context(), true)
	return strings.Join(s.said, "")
}

func (s *scene) node(args []string) {
	t := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: args[0]}}
	for i := range s.number(args[2]) {
		g := v1alpha1.GPU{ID: fmt.Sprintf("%s-%d", args[0], i), Index: int32(i), Model: args[1], Form: "physical"}
		if slices.Contains(args, "sliced") {
			g.Form, g.Card, g.Type = "virtual", fmt.Sprintf("%s-card-%d", args[0], i), args[1]+"-MIG-1g.10gb"
		}
		t.Status.GPUs = append(t.Status.GPUs, g)
	}
	s.nodes[args[0]] = t
	s.keeper.SetNode(t)
}

func (s *scene) gone(args []string) {
	if args[0] == "node" {
		s.keeper.RemoveNode(s.nodes[args[1]])
		delete(s.nodes, args[1])
		return
	}
	s.keeper.RemoveGroup(s.objects[args[1]])
	delete(s.objects, args[1])
}

func (s *scene) right(args []string) { s.rights[args[0]+" "+args[1]] = true }
func (s *scene) wrong(args []string) { delete(s.rights, args[0]+" "+args[1]) }
func (s *scene) silence([]string)    { s.silent = true }
func (s *scene) speech([]string)     { s.silent = false }

func (s *scene) group(args []string) {
	g := &v1alpha1.GPUGroup{ObjectMeta: metav1.ObjectMeta{Name: args[0], Generation: 1}}
	if old := s.objects[args[0]]; old != nil {
		g.Generation, g.Status = old.Generation+1, old.Status
	}
	g.Spec = v1alpha1.GPUGroupSpec{Tenants: strings.Split(args[1], ","), Form: "physical"}
	for _, arg := range args[2:] {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "form":
			g.Spec.Form = value
		case "type":
			g.Spec.Type = value
		case "quota":
			q := resource.MustParse(value)
			g.Spec.Quota = &q
		default:
			g.Spec.Nodes = append(g.Spec.Nodes, v1alpha1.GPUGroupNode{Name: name, GPUs: strings.Split(value, ",")})
		}
	}
	s.objects[args[0]] = g
	s.keeper.SetGroup(g)
}

func (s *scene) remake(args []string) {
	s.gone([]string{"group", args[0]})
	s.group(args)
	s.objects[args[0]].UID = "another"
}

func (s *scene) again([]string) {
	s.fresh()
	for _, t := range s.nodes {
		s.keeper.SetNode(t)
	}
	for _, g := range s.objects {
		s.keeper.SetGroup(g)
	}
}

func (s *scene) give(args []string) {
	node := &sched.Node{GPUs: []sched.GPU{{ID: "card", Type: "A100"}}}
	d := sched.Decision{Pod: &sched.Pod{UID: args[0], Tenant: args[1]}, At: sched.Placement{
		GPUGroup: args[2], GPUs: []sched.GPUShare{{ID: "card", Milli: sched.MilliGPU(s.number(args[3]))}},
	}}
	if err := s.quotas.Check(d, node); err != nil {
		s.say("%v", err)
		return
	}
	s.quotas.Observe(nodestate.Event{Kind: nodestate.Assigned, UID: args[0], Node: node, Now: nodestate.Decided(d)})
}

func (s *scene) quota(args []string) {
	quotas := map[string]resource.Quantity{}
	for _, arg := range args[1:] {
		kind, most, _ := strings.Cut(arg, "=")
		quotas[kind] = resource.MustParse(most)
	}
	s.say("changed: %v", s.quotas.SetTenant(args[0], quotas))
}

func (s *scene) end(args []string) {
	s.quotas.Observe(nodestate.Event{Kind: nodestate.Released, UID: args[0]})
}

func (s *scene) limited(args []string) { s.say("%v", s.quotas.Limited(args[0])) }

func (s *scene) show([]string) {
	for _, name := range []string{"g", "h"} {
		object := s.objects[name]
		if object == nil {
			continue
		}
		v := s.keeper.verdicts[name]
		object.Status = status(object.Status, v, s.quotas.Holders(name), metav1.NewTime(time.Unix(1, 0)))
		s.say("%s: generation %d, %d GPUs, %s used", name, object.Status.ObservedGeneration, object.Status.GPUs, object.Status.Used)
		for _, c := range object.Status.Conditions {
			s.say("  %s: %s since %d, %s: %s", c.Type, c.Status, c.LastTransitionTime.Unix(), c.Reason, c.Message)
		}
		for _, u := range object.Status.Usage {
			s.say("  %s has %s", u.Tenant, &u.GPUs)
		}
	}
}

func (s *scene) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

package filters

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// liking returns a pod with the label app=web.
func liking(name string) *st.PodWrapper { return pod(name).Label("app", "web").Container("web") }

// preferring makes a pod prefer the nodes of a zone by node affinity.
func preferring(p *st.PodWrapper, zone string, weight int32) *st.PodWrapper {
	if p.Spec.Affinity == nil {
		p.NodeAffinity(&v1.NodeAffinity{})
	}
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}
	p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: weight, Preference: term}}
	return p
}

// TestPrefer places a pod that fits on each of three nodes, and checks which node it gets. Without
// any preference it gets node a, the first one.
func TestPrefer(t *testing.T) {
	db := pod("db").Label("app", "db").Node("c").Obj()
	loner := pod("loner").Node("a").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithPreferredReq).Obj()
	fan := pod("fan").Node("c").PodAffinityExists("app", v1.LabelHostname, st.PodAffinityWithRequiredReq).Label("app", "fan").Obj()
	soft := st.MakeLabelSelector().Exists("app").Obj()
	for name, tc := range map[string]struct {
		pod    *st.PodWrapper
		before *v1.Pod
		nodes  func(*st.NodeWrapper)
		want   string
	}{
		"nothing":              {pod: liking("p"), before: pod("x").Node("c").Obj(), want: "a"},
		"node affinity":        {pod: preferring(liking("p"), "b", 1), want: "b"},
		"pod affinity":         {pod: liking("p").PodAffinityExists("app", "zone", st.PodAffinityWithPreferredReq), before: db, want: "c"},
		"pod anti-affinity":    {pod: liking("p").PodAntiAffinityExists("app", "zone", st.PodAntiAffinityWithPreferredReq), before: pod("x").Label("app", "x").Node("a").Obj(), want: "b"},
		"spread":               {pod: liking("p").SpreadConstraint(1, "zone", v1.ScheduleAnyway, soft, nil, nil, nil, nil), before: pod("x").Label("app", "x").Node("a").Obj(), want: "b"},
		"kept away":            {pod: liking("p"), before: loner, want: "b"},
		"drawn near":           {pod: liking("p"), before: fan, want: "c"},
		"taint":                {pod: liking("p"), nodes: taint("a", "b"), want: "c"},
		"tolerated taint":      {pod: liking("p").Toleration("slow"), nodes: taint("a", "b"), want: "a"},
		"image":                {pod: pod("p").Container("registry/web"), nodes: cached("registry/web:latest", 900<<20, "b"), want: "b"},
		"small image":          {pod: pod("p").Container("registry/web"), nodes: cached("registry/web:latest", 9<<20, "b"), want: "a"},
		"required comes first": {pod: preferring(liking("p").NodeAffinityIn("zone", []string{"c"}, st.NodeSelectorTypeMatchExpressions), "b", 100), want: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTiers(newScene(t), "a", "b", "c")
			for _, name := range s.nodes {
				if n := node(name).Label("zone", name); tc.nodes != nil {
					tc.nodes(n)
					s.setNode(n.Obj())
				}
			}
			if tc.before != nil {
				if err := s.bind(tc.before); err != nil {
					t.Fatal(err)
				}
			}
			s.schedule(tc.pod.Obj())
			s.wantNodes(map[string]string{"p": tc.want})
		})
	}
}

// taint returns a function that adds a PreferNoSchedule taint to a node if the node's name is among
// `names`.
func taint(names ...string) func(*st.NodeWrapper) {
	return on(names, func(n *st.NodeWrapper) {
		n.Taints([]v1.Taint{{Key: "slow", Effect: v1.TaintEffectPreferNoSchedule}})
	})
}

// cached returns a function that adds an image to a node if the node's name is among `names`.
func cached(name string, size int64, names ...string) func(*st.NodeWrapper) {
	return on(names, func(n *st.NodeWrapper) { n.Images(map[string]int64{name: size}) })
}

func on(names []string, change func(*st.NodeWrapper)) func(*st.NodeWrapper) {
	return func(n *st.NodeWrapper) {
		for _, name := range names {
			if n.Obj().Name == name {
				change(n)
			}
		}
	}
}

// TestPreferEnds removes the taint, the image and the other pod that made a pod prefer some nodes.
// It checks that no nodes are rated for the pod any more.
func TestPreferEnds(t *testing.T) {
	s := newTiers(newScene(t), "a", "b")
	s.setNode(node("a").Taints([]v1.Taint{{Key: "slow", Effect: v1.TaintEffectPreferNoSchedule}}).Images(map[string]int64{"web:latest": 1 << 30}).Obj())
	loner := pod("loner").Node("b").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithPreferredReq).Obj()
	if err := s.bind(loner); err != nil {
		t.Fatal(err)
	}
	rated := func() int {
		s.proposer.Begin(s.request(liking("p").Obj()))
		return s.proposer.Preferring(2)
	}
	if got := rated(); got != 2 {
		t.Errorf("%d nodes are rated, want 2", got)
	}
	s.setNode(node("a").Obj())
	s.state.Release("loner")
	if got := rated(); got != 0 {
		t.Errorf("%d nodes are rated although nothing is preferred", got)
	}
}

// TestPreferTogether checks that pods that prefer to be apart get different nodes, even if nodes
// are proposed for all of them before the first one is assigned.
func TestPreferTogether(t *testing.T) {
	for name, apart := range map[string]func(*st.PodWrapper) *st.PodWrapper{
		"anti-affinity": func(p *st.PodWrapper) *st.PodWrapper {
			return p.PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithPreferredReq)
		},
		"spread": func(p *st.PodWrapper) *st.PodWrapper {
			return p.SpreadConstraint(1, "zone", v1.ScheduleAnyway, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTiers(newScene(t), "a", "b", "c")
			s.schedule(apart(liking("1")).Obj(), apart(liking("2")).Obj(), apart(liking("3")).Obj(), apart(liking("4")).Obj())
			s.wantNodes(map[string]string{"1": "a", "2": "b", "3": "c", "4": "a"})
			if n := s.cluster.proposals.some.Load(); n != 0 {
				t.Errorf("%d proposals count although all pods are assigned", n)
			}
		})
	}
}

// TestPreferInGang checks that the pods of a gang get different nodes if they prefer to be apart.
func TestPreferInGang(t *testing.T) {
	s := newTiers(newScene(t), "a", "b")
	gang := &sched.Pod{UID: "gang", Gang: &sched.Gang{ID: "gang", Need: 3}}
	for _, name := range []string{"1", "2", "3"} {
		p := liking(name).SpreadConstraint(1, "zone", v1.ScheduleAnyway, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil)
		gang.Gang.Members = append(gang.Gang.Members, s.request(p.Obj()))
	}
	s.second.Commit(s.first.Propose(gang))
	s.wantNodes(map[string]string{"1": "a", "2": "b", "3": "a"})
}

// TestPreferChanged changes a node after a proposer has listed the node for a pod that prefers it.
// It checks that the committer filters this node again, and uses the node if the pod still fits on
// it.
func TestPreferChanged(t *testing.T) {
	s := newTiers(newScene(t), "a", "b")
	list := s.first.Propose(s.request(preferring(liking("p"), "b", 1).Obj()))
	if err := s.bind(pod("x").Node("b").Obj()); err != nil {
		t.Fatal(err)
	}
	s.second.Commit(list)
	s.wantNodes(map[string]string{"p": "b"})

	list = s.first.Propose(s.request(preferring(liking("q"), "b", 1).Obj()))
	s.setNode(node("b").Unschedulable(true).Obj())
	s.second.Commit(list)
	if _, ok := s.bound["q"]; ok {
		t.Error("the pod is on a node that is cordoned since it was listed")
	}
}

// TestPreferNobody checks the usual case: a pod prefers nothing, and the cluster has no taints, no
// images and no pods with affinity. The method Preferring must then allocate no memory.
func TestPreferNobody(t *testing.T) {
	s := newTiers(newScene(t), "a")
	request := s.request(liking("p").Obj())
	s.proposer.Begin(request)
	if n := testing.AllocsPerRun(100, func() { s.proposer.Preferring(1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

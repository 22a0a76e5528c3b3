package filters

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// TestCouldHold checks in which cases CouldHold returns false because of the pods' node
// selectors or because of other pods. Two of the three nodes have the label disk=ssd.
func TestCouldHold(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	disk := func(p *st.PodWrapper, kind string) *st.PodWrapper {
		return p.NodeSelector(map[string]string{"disk": kind})
	}
	apart := func(p *st.PodWrapper, key string) *st.PodWrapper {
		return disk(p, "ssd").Label("app", "db").PodAntiAffinityExists("app", key, st.PodAntiAffinityWithRequiredReq)
	}
	for _, c := range []struct {
		name        string
		pods        int
		need        int
		pod         func(i int, p *st.PodWrapper) *st.PodWrapper
		want, known bool // known: a proposer has filtered the pods before, so the sets of nodes that admit them are cached
	}{
		{"its rules admit nodes", 1, 1, func(_ int, p *st.PodWrapper) *st.PodWrapper { return disk(p, "ssd") }, true, true},
		{"its rules admit no node", 1, 1, func(_ int, p *st.PodWrapper) *st.PodWrapper { return disk(p, "none") }, false, true},
		{"its rules admit no node, which is not known", 1, 1, func(_ int, p *st.PodWrapper) *st.PodWrapper { return disk(p, "none") }, true, false},
		{"it lacks a neighbor", 1, 1, func(_ int, p *st.PodWrapper) *st.PodWrapper {
			return p.PodAffinity("zone", web, st.PodAffinityWithRequiredReq)
		}, false, true},
		{"another pod of the gang may be the neighbor", 2, 2, func(i int, p *st.PodWrapper) *st.PodWrapper {
			if i == 0 {
				return p.Label("app", "web")
			}
			return p.PodAffinity("zone", web, st.PodAffinityWithRequiredReq)
		}, true, true},
		{"one of three is enough for two", 3, 2, func(i int, p *st.PodWrapper) *st.PodWrapper { return disk(p, []string{"ssd", "ssd", "none"}[i]) }, true, true},
		{"one of three is missing", 3, 3, func(i int, p *st.PodWrapper) *st.PodWrapper { return disk(p, []string{"ssd", "ssd", "none"}[i]) }, false, true},
		{"two keep apart on two nodes", 3, 2, func(_ int, p *st.PodWrapper) *st.PodWrapper { return apart(p, v1.LabelHostname) }, true, true},
		{"three keep apart on two nodes", 3, 3, func(_ int, p *st.PodWrapper) *st.PodWrapper { return apart(p, v1.LabelHostname) }, false, true},
		{"three keep apart on two nodes, which is not known", 3, 3, func(_ int, p *st.PodWrapper) *st.PodWrapper { return apart(p, v1.LabelHostname) }, true, false},
		{"they keep apart by zone", 3, 3, func(_ int, p *st.PodWrapper) *st.PodWrapper { return apart(p, "zone") }, true, true},
		{"two of three keep apart", 3, 3, func(i int, p *st.PodWrapper) *st.PodWrapper {
			if i == 2 {
				return disk(p, "ssd")
			}
			return apart(p, v1.LabelHostname)
		}, true, true},
		{"they keep apart from others", 3, 3, func(_ int, p *st.PodWrapper) *st.PodWrapper {
			return disk(p, "ssd").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq)
		}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).with([]*v1.Node{node("n0").Label("disk", "ssd").Obj(), node("n1").Label("disk", "ssd").Obj(), node("n2").Obj()})
			var pods []*sched.Pod
			for i := range c.pods {
				one := s.read(c.pod(i, pod(fmt.Sprint("p", i))).Obj())
				if c.pods > 1 {
					one.Gang = &sched.Gang{ID: "g", Need: c.need}
				}
				if pods = append(pods, one); c.known {
					s.proposer.Begin(one)
				}
			}
			if got := s.cluster.CouldHold(pods, c.need); got != c.want {
				t.Errorf("CouldHold = %v", got)
			}
		})
	}
}

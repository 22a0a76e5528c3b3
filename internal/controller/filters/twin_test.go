package filters

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// TestTwin changes nodes and pods at random. It checks that the filters give the same result for
// each node as kube-scheduler's default profile without the plugin DynamicResources.
// kube-scheduler's filters read a new snapshot of the cluster after each change.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	spaces := []*v1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "blue", Labels: map[string]string{"team": "one"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "green"}},
	}
	s := newScene(t, spaces[0], spaces[1])
	twin := newTwin(t, spaces...)
	w := &world{Rand: r, scene: s, nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{}}
	refused, suited := 0, 0
	for range 300 {
		for range 4 {
			w.step()
		}
		twin.look(w)
		s.nodes = slices.Sorted(maps.Keys(w.nodes))
		for range 3 {
			p := w.pod("pending")
			got, _ := s.judge(s.proposer, p.Obj())
			want := twin.judge(t, p.Obj(), s.nodes)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("pod %+v (-kube-scheduler +ours):\n%s", p.Spec, diff)
			}
			refused, suited = refused+len(got), suited+len(w.nodes)-len(got)
		}
	}
	if refused < 500 || suited < 500 {
		t.Errorf("%d refusals and %d suiting nodes compared: too few of one to mean much", refused, suited)
	}
}

// world is a cluster for tests that changes at random.
type world struct {
	*rand.Rand
	scene *scene
	nodes map[string]*v1.Node
	pods  map[string]*v1.Pod
}

// step makes one random change.
func (w *world) step() {
	switch w.IntN(8) {
	case 0, 1:
		n := w.node(fmt.Sprint("n", w.IntN(12)))
		w.nodes[n.Name] = n
		w.scene.setNode(n)
	case 2:
		name := fmt.Sprint("n", w.IntN(12))
		if w.IntN(3) == 0 {
			delete(w.nodes, name)
			w.scene.state.RemoveNode(name)
		}
	case 3:
		name := fmt.Sprint("p", w.IntN(40))
		delete(w.pods, name)
		w.scene.state.Release(name)
	default:
		w.place(w.pod(fmt.Sprint("p", w.IntN(40))).Node(fmt.Sprint("n", w.IntN(12))).Obj())
	}
}

// place binds a pod. Before that, it does one of three things at random. It assigns the pod to a
// random node in the state, and sometimes undoes this assignment. Or it assigns the pod to the node
// of the later Binding, but the assigned version of the pod has a random value of the label app. Or
// it does nothing.
func (w *world) place(p *v1.Pod) {
	if old := w.pods[p.Name]; old != nil && old.Spec.NodeName != p.Spec.NodeName {
		w.scene.state.Release(string(old.UID)) // an API server binds a pod only once, so the old pod must be gone first
	}
	switch w.IntN(3) {
	case 0:
		d := w.assume(p, fmt.Sprint("n", w.IntN(12)))
		if w.IntN(2) == 0 {
			w.scene.state.Undo(d)
		}
	case 1:
		p.Generation = 1
		decided := p.DeepCopy()
		decided.Labels["app"] = w.one("web", "db", "cache")
		w.assume(decided, p.Spec.NodeName)
	}
	w.pods[p.Name] = p
	if err := w.scene.bind(p); err != nil {
		w.scene.Fatal(err)
	}
}

// assume assigns a pod to a node in the state, as the committer does. It changes nothing if the
// node does not exist.
func (w *world) assume(p *v1.Pod, node string) sched.Decision {
	d := sched.Decision{Pod: w.scene.request(p), At: sched.Placement{Node: node}}
	if record := w.scene.state.Record(node); record != nil {
		w.scene.state.Place(d.Pod, record, d.At, w.scene.state.NarrowSeq())
	}
	return d
}

func (w *world) one(of ...string) string { return of[w.IntN(len(of))] }

func (w *world) rarely() bool { return w.IntN(5) == 0 }

func (w *world) node(name string) *v1.Node {
	n := node(name).Label("zone", w.one("east", "west", "north")).Unschedulable(w.IntN(10) == 0)
	if w.rarely() {
		n.Taints([]v1.Taint{{Key: "batch", Effect: v1.TaintEffect(w.one("NoSchedule", "NoExecute", "PreferNoSchedule"))}})
	}
	if w.IntN(2) == 0 {
		n.Status.Allocatable["example.com/gpu"] = resource.MustParse(w.one("1", "3"))
		n.Status.Allocatable["ephemeral-storage"] = resource.MustParse(w.one("1Gi", "3Gi"))
	}
	return n.Obj()
}

func (w *world) pod(name string) *st.PodWrapper {
	p := st.MakePod().Name(name).UID(name).Namespace(w.one("blue", "green")).Label("app", w.one("web", "db", "cache")).
		Req(map[v1.ResourceName]string{"cpu": w.one("100m", "1", "2"), "memory": w.one("1Gi", "2Gi")})
	for _, add := range []func(){
		func() { p.Req(map[v1.ResourceName]string{"ephemeral-storage": w.one("0", "1Gi")}) },
		func() { w.extended(p) },
		func() { w.resized(p) },
		func() { p.HostPort(int32(80 + w.IntN(2))) },
		func() { p.Toleration("batch") },
		func() { p.NodeSelector(map[string]string{"zone": w.one("east", "west")}) },
		func() { p.NodeAffinityNotIn("zone", []string{"north"}) },
		func() { p.PodAffinity("zone", w.selector(), st.PodAffinityWithRequiredReq) },
		func() { p.PodAntiAffinity(w.key(), w.selector(), st.PodAntiAffinityWithRequiredReq) },
		func() { w.elsewhere(p) },
		func() { p.PodAntiAffinity("zone", w.selector(), st.PodAntiAffinityWithPreferredReq) },
		func() { p.SpreadConstraint(1+w.IntN(2), w.key(), w.unmet(), w.selector(), nil, nil, nil, nil) },
		func() { p.NodeAffinityIn("metadata.name", []string{"n1", "n2"}, st.NodeSelectorTypeMatchFields) },
	} {
		if w.rarely() {
			add()
		}
	}
	return p
}

// The method `extended` makes the pod request one extended resource or huge pages. With two such
// resources, the order of the messages would be random.
func (w *world) extended(p *st.PodWrapper) {
	p.Req(map[v1.ResourceName]string{v1.ResourceName(w.one("example.com/gpu", "example.com/gpu", "hugepages-2Mi")): w.one("0", "1", "2")})
}

// resized gives the pod a status whose resources differ from the pod's requests, and a condition
// that says that an in-place resize is infeasible.
func (w *world) resized(p *st.PodWrapper) {
	got := v1.ResourceList{"cpu": resource.MustParse(w.one("100m", "3"))}
	c := &p.Obj().Spec.Containers[0]
	p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: c.Name, AllocatedResources: got, Resources: &v1.ResourceRequirements{Requests: got}}}
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
}

func (w *world) key() string { return w.one("zone", v1.LabelHostname) }

func (w *world) unmet() v1.UnsatisfiableConstraintAction {
	return v1.UnsatisfiableConstraintAction(w.one("DoNotSchedule", "ScheduleAnyway"))
}

func (w *world) selector() *metav1.LabelSelector {
	return st.MakeLabelSelector().Label("app", w.one("web", "db", "cache")).Obj()
}

// elsewhere adds anti-affinity to a pod, against pods of other namespaces.
func (w *world) elsewhere(p *st.PodWrapper) {
	spaces := st.MakeLabelSelector().Obj()
	if w.IntN(2) == 0 {
		spaces = st.MakeLabelSelector().Label("team", "one").Obj()
	}
	p.PodAntiAffinity(w.key(), w.selector(), st.PodAntiAffinityWithRequiredReq)
	terms := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	terms[len(terms)-1].NamespaceSelector = spaces
}

// twin is kube-scheduler's framework with its default profile and a snapshot, as kube-scheduler
// uses it.
type twin struct {
	framework framework.Framework
	snapshot  struct{ fwk.SharedLister }
}

func newTwin(t *testing.T, spaces ...*v1.Namespace) *twin {
	t.Helper()
	tw := &twin{}
	defaults, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	profile := defaults.Profiles[0]
	all := &profile.Plugins.MultiPoint.Enabled
	*all = slices.DeleteFunc(*all, func(p config.Plugin) bool { return p.Name == names.DynamicResources })
	client := fake.NewClientset(spaces[0], spaces[1])
	factory := informers.NewSharedInformerFactory(client, 0)
	tw.framework, err = runtime.NewFramework(t.Context(), plugins.NewInTreeRegistry(), &profile,
		runtime.WithClientSet(client), runtime.WithInformerFactory(factory), runtime.WithSnapshotSharedLister(&tw.snapshot))
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return tw
}

// look makes a new snapshot of the nodes and pods of a world, which the framework then reads.
func (tw *twin) look(w *world) {
	placed := slices.DeleteFunc(slices.Collect(maps.Values(w.pods)), func(p *v1.Pod) bool { return w.nodes[p.Spec.NodeName] == nil })
	tw.snapshot.SharedLister = cache.NewSnapshot(placed, slices.Collect(maps.Values(w.nodes)))
}

// judge returns why kube-scheduler's framework refuses nodes for a pod: the reason for each
// refused node, by node name.
func (tw *twin) judge(t *testing.T, pod *v1.Pod, nodes []string) map[string]string {
	t.Helper()
	state, against := framework.NewCycleState(), map[string]string{}
	only, status, by := tw.framework.RunPreFilterPlugins(t.Context(), state, pod)
	for _, name := range nodes {
		verdict := status
		info, err := tw.snapshot.NodeInfos().Get(name)
		switch {
		case err != nil:
			t.Fatal(err)
		case !status.IsSuccess():
		case !only.AllNodes() && !only.NodeNames.Has(name):
			verdict = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by)))
		default:
			verdict = tw.framework.RunFilterPlugins(t.Context(), state, pod, info)
		}
		if !verdict.IsSuccess() {
			against[name] = strings.Join(verdict.Reasons(), ", ")
		}
	}
	return against
}

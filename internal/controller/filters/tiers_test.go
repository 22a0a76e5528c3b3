package filters

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// tiers is a scene (a cluster for tests) with a proposer, which lists nodes for pods, and a
// committer, which assigns each pod to a listed node. The proposer lists only one node for each
// pod.
type tiers struct {
	*scene
	first         *pipeline.Proposer
	second        *pipeline.Committer
	bound         map[string]sched.Decision
	unschedulable []string
	again         []string
}

func newTiers(s *scene, names ...string) *tiers {
	s.Helper()
	c := s.state
	var nodes []*v1.Node
	for _, name := range names {
		nodes = append(nodes, node(name).Label("zone", name).Obj())
	}
	s.with(nodes)
	t := &tiers{scene: s, first: pipeline.NewProposer(c.View, pipeline.ProposerOptions{Filter: s.proposer}), bound: map[string]sched.Decision{}}
	t.second = pipeline.NewCommitter(c, s.committer, pipeline.Effects{
		Bind:              func(d sched.Decision) { t.bound[d.Pod.Name] = d },
		Requeue:           func(p *sched.Pod, _ sched.Reason) { t.again = append(t.again, p.Name) },
		MarkUnschedulable: func(p *sched.Pod, _ uint64) { t.unschedulable = append(t.unschedulable, p.Name) },
		Widen:             pipeline.NewProposer(c.View, pipeline.ProposerOptions{Filter: s.committer}).Propose,
	})
	return t
}

// schedule lets the proposer list nodes for all pods, and then lets the committer decide from these
// lists. If the committer sends back some of the pods because their node was taken, schedule
// repeats both steps for these pods.
func (t *tiers) schedule(pods ...*v1.Pod) {
	t.Helper()
	t.unschedulable, t.again = nil, nil
	var lists []sched.List
	for _, p := range pods {
		lists = append(lists, t.first.Propose(t.request(p)))
	}
	for _, l := range lists {
		t.second.Commit(l)
	}
	if taken := t.again; len(taken) > 0 && len(taken) < len(pods) {
		without := t.unschedulable
		t.schedule(slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool { return !slices.Contains(taken, p.Name) })...)
		t.unschedulable = append(without, t.unschedulable...)
	}
}

// undo undoes the assignment of a pod, as after a failed Binding.
func (t *tiers) undo(name string) {
	t.second.Undo(t.bound[name])
	delete(t.bound, name)
}

func (t *tiers) wantNodes(want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name, d := range t.bound {
		got[name] = d.At.Node
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods on nodes (-want +got):\n%s", diff)
	}
}

func (t *tiers) wantSentBack(unschedulable, again []string) {
	t.Helper()
	if diff := cmp.Diff([][]string{unschedulable, again}, [][]string{t.unschedulable, t.again}); diff != "" {
		t.Errorf("unschedulable pods, and those to be retried (-want +got):\n%s", diff)
	}
}

// TestReserveKeepsApart lists a node for a pod, and then places a second pod whose anti-affinity
// excludes the first pod from the node's zone. It checks that the committer refuses the first pod,
// although its listed node has room.
func TestReserveKeepsApart(t *testing.T) {
	s := newTiers(newScene(t), "a")
	loner := pod("loner").PodAntiAffinityExists("app", "zone", st.PodAntiAffinityWithRequiredReq).Obj()
	s.schedule(loner, pod("web").Label("app", "web").Obj())
	s.wantNodes(map[string]string{"loner": "a"})
	s.wantSentBack([]string{"web"}, nil)

	s.undo("loner")
	s.schedule(pod("web").Label("app", "web").Obj())
	s.wantNodes(map[string]string{"web": "a"})
}

// TestKeepApartTogether checks pods that exclude each other by anti-affinity, and for which the
// same node was listed. The committer must place the first pod and send the others back. Of these,
// each must then get a node of its own, except the last one, for which no node is left.
func TestKeepApartTogether(t *testing.T) {
	s := newTiers(newScene(t), "a", "b", "c")
	loner := func(name string) *v1.Pod {
		return pod(name).Label("app", "web").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq).Obj()
	}
	s.schedule(loner("1"), loner("2"), loner("3"), loner("4"))
	s.wantNodes(map[string]string{"1": "a", "2": "b", "3": "c"})
	s.wantSentBack([]string{"4"}, nil)
}

// TestSpreadTogether checks that pods are spread over zones, although the same node was listed for
// all of them at first.
func TestSpreadTogether(t *testing.T) {
	s := newTiers(newScene(t), "a", "b", "c")
	even := func(name string) *v1.Pod {
		return pod(name).Label("app", "web").
			SpreadConstraint(1, "zone", v1.DoNotSchedule, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil).Obj()
	}
	s.schedule(even("1"), even("2"), even("3"), even("4"))
	s.wantNodes(map[string]string{"1": "a", "2": "b", "3": "c", "4": "a"})
}

// TestVolumes checks volume claims that are bound when a pod that uses them is scheduled. Only the
// last node has a volume. The test checks that the volume is reserved for one pod only, and is free
// again after the Binding of this pod has failed.
func TestVolumes(t *testing.T) {
	s := newTiers(newScene(t, localVolume("disk", "c"), localClass(), claim("one"), claim("two")), "a", "b", "c")
	s.schedule(pod("first").PVC("one").Obj(), pod("second").PVC("two").Obj())
	s.wantNodes(map[string]string{"first": "c"})
	s.wantSentBack([]string{"second"}, nil)

	s.undo("first")
	s.schedule(pod("second").PVC("two").Obj())
	s.wantNodes(map[string]string{"second": "c"})
}

// TestVolumesSay checks the messages for a claim that does not exist and for a claim whose volume
// is on another node. Only the second message has the number of nodes that do not fit for this
// reason.
func TestVolumesSay(t *testing.T) {
	s := newScene(t, localVolume("disk", "c"), localClass(), claim("one")).with([]*v1.Node{node("a").Obj(), node("c").Obj()})
	for name, tc := range map[string]struct{ claim, want string }{
		"not there": {"none", `0/2 nodes are available: persistentvolumeclaim "none" not found.`},
		"elsewhere": {"one", "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := s.judge(s.committer, pod("p").PVC(tc.claim).Obj()); got != tc.want {
				t.Errorf("people read %q, want %q", got, tc.want)
			}
		})
	}
}

func localVolume(name, node string) runtime.Object {
	volume := st.MakePersistentVolume().Name(name).StorageClassName("local").AccessModes([]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}).
		Capacity(v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}).NodeAffinityIn(v1.LabelHostname, []string{node}).Obj()
	volume.Status.Phase = v1.VolumeAvailable
	return volume
}

func localClass() runtime.Object {
	return st.MakeStorageClass().Name("local").Provisioner("kubernetes.io/no-provisioner").
		VolumeBindingMode(storagev1.VolumeBindingWaitForFirstConsumer).Obj()
}

func claim(name string) runtime.Object {
	class := "local"
	return st.MakePersistentVolumeClaim().Name(name).Namespace("default").StorageClassName(&class).
		AccessModes([]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}).
		Resources(v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}).Obj()
}

// TestGang checks that anti-affinity, host ports and topology spread are obeyed between the pods of
// one gang. Each node has room for all pods, but each pod must get a node of its own. If there are
// too few nodes, all pods of the gang must wait.
func TestGang(t *testing.T) {
	loner := func(name string) *st.PodWrapper {
		return pod(name).Label("app", "train").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq)
	}
	for name, tc := range map[string]struct {
		member func(name string) *st.PodWrapper
		why    string
	}{
		"apart":      {loner, "2 node(s) didn't match pod anti-affinity rules"},
		"host ports": {func(name string) *st.PodWrapper { return pod(name).HostPort(80) }, "2 node(s) didn't have free ports for the requested pod ports"},
		"spread": {func(name string) *st.PodWrapper {
			return pod(name).Label("app", "train").SpreadConstraint(1, v1.LabelHostname, v1.DoNotSchedule, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTiers(newScene(t), "a", "b")
			gang := func(n int) *sched.Pod {
				g := &sched.Gang{ID: "gang", Need: n}
				for i := range n {
					member := s.request(tc.member(string(rune('p' + i))).Obj())
					member.Gang = &sched.Gang{ID: g.ID}
					g.Members = append(g.Members, member)
				}
				return &sched.Pod{UID: g.ID, Name: g.ID, Gang: g, Across: true}
			}
			if tc.why != "" {
				s.second.Commit(s.first.Propose(gang(3)))
				s.wantNodes(map[string]string{})
				s.wantSentBack([]string{"gang"}, nil)
				planned, why := s.first.Explain(gang(3))
				if !strings.Contains(why.String(), tc.why) || planned != 2 {
					t.Errorf("after %d %s, want after 2 %s", planned, why, tc.why)
				}
			}
			s.second.Commit(s.first.Propose(gang(2)))
			s.wantNodes(map[string]string{"p": "a", "q": "b"})
		})
	}
}

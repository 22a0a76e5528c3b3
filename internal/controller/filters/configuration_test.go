package filters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
)

const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func options() Options {
	return Options{SchedulerName: "numalet-scheduler", GPUResource: "nvidia.com/gpu", Rated: 256}
}

// TestRefusedConfigurations checks the errors for unsupported configurations. Each file
// testdata/configuration/*.txt has a configuration without its header, and the expected error.
func TestRefusedConfigurations(t *testing.T) {
	scenario.Cases(t, "testdata/configuration/*.txt", func(t *testing.T, sections []txtar.File) []txtar.File {
		_, err := ReadConfiguration([]byte(header+string(sections[0].Data)), options())
		if err == nil {
			t.Fatal("it is not refused")
		}
		return []txtar.File{{Name: "error", Data: []byte(err.Error() + "\n")}}
	})
}

// twoProfiles is a KubeSchedulerConfiguration with two profiles. The first profile prefers zone b
// and ignores some extended resources. The second profile ignores that nodes are unschedulable, and
// requires zone c.
const twoProfiles = header + `
percentageOfNodesToScore: 10
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
profiles:
- schedulerName: prefers-b
  percentageOfNodesToScore: 50
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [b]}]}}
  - name: NodeResourcesFit
    args: {ignoredResources: [example.com/licence], ignoredResourceGroups: [example.org]}
- schedulerName: requires-c
  plugins:
    score: {disabled: [{name: "*"}]}
    filter: {disabled: [{name: NodeUnschedulable}]}
    postFilter: {disabled: [{name: DefaultPreemption}]}
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [c]}]}]
`

func TestConfiguration(t *testing.T) {
	c, err := ReadConfiguration([]byte(twoProfiles), options())
	if err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Names      []string
		Kubeconfig string
		Rated      []int
	}
	want := facts{[]string{"numalet-scheduler", "prefers-b", "requires-c"}, "/etc/kubernetes/scheduler.conf", []int{200, 1000, 200, 100}}
	got := facts{c.SchedulerNames(), c.Kubeconfig(), []int{c.ratedOf(0, 2000), c.ratedOf(1, 2000), c.ratedOf(2, 2000), c.ratedOf(0, 500)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// TestOwnProfile checks that a profile with the controller's own scheduler name replaces the
// default profile. It also checks that the controller's own name is the only scheduler name if
// there is no KubeSchedulerConfiguration.
func TestOwnProfile(t *testing.T) {
	for text, want := range map[string]int{"": 256, header + "profiles: [{schedulerName: numalet-scheduler, percentageOfNodesToScore: 20}]": 400} {
		c, err := ReadConfiguration([]byte(text), options())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"numalet-scheduler"}, c.SchedulerNames()); diff != "" || c.ratedOf(0, 2000) != want {
			t.Errorf("%d nodes are rated, want %d; names (-want +got):\n%s", c.ratedOf(0, 2000), want, diff)
		}
	}
}

// TestProfiles checks that a pod is filtered and rated by the profile with its scheduler name. A
// pod with an unknown scheduler name gets the first profile.
func TestProfiles(t *testing.T) {
	c, err := ReadConfiguration([]byte(twoProfiles), options())
	if err != nil {
		t.Fatal(err)
	}
	s := newTiers(newScene(t), "a", "b", "c")
	client := fake.NewClientset()
	api := API{Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Configuration: c}
	if s.proposer, err = NewProposer(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	s.setNode(node("c").Label("zone", "c").Unschedulable(true).Obj())
	for name, tc := range map[string]struct {
		rated int
		fit   string
	}{"numalet-scheduler": {0, "ab"}, "prefers-b": {3, "ab"}, "requires-c": {0, "c"}, "another": {0, "ab"}} {
		t.Run(name, func(t *testing.T) {
			request := s.asked(t, c, name, pod("p").Obj())
			fit := ""
			for _, node := range s.nodes {
				if _, why := s.proposer.Begin(request); !why.Refuses() && request.Admits(s.state.Record(node)) && !s.proposer.Check(s.state.Record(node)).Refuses() {
					fit += node
				}
			}
			if rated := s.proposer.Preferring(3); fit != tc.fit || rated != tc.rated {
				t.Errorf("it fits on %q and rates %d nodes, want %q and %d", fit, rated, tc.fit, tc.rated)
			}
		})
	}
}

// asked converts the given pod to a sched.Pod, with Reader.ReadPod and the Configuration c. The
// sched.Pod has the given scheduler name and requests some extended resources.
func (s *scene) asked(t *testing.T, c *Configuration, scheduler string, pod *v1.Pod) *sched.Pod {
	t.Helper()
	request := &sched.Pod{UID: string(pod.UID), Name: pod.Name, Profile: scheduler, Requests: sched.Amounts{
		Extended: sched.ExtendedOf(map[string]int64{"example.com/licence": 1, "example.org/x": 1, "example.com/nic": 1}),
	}}
	if err := (Reader{Cluster: s.cluster, Configuration: c}).ReadPod(pod, request); err != nil {
		t.Fatal(err)
	}
	return request
}

// TestIgnoredResources checks that the requests of a pod leave out the resources that its profile
// ignores.
func TestIgnoredResources(t *testing.T) {
	c, err := ReadConfiguration([]byte(twoProfiles), options())
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t)
	for name, want := range map[string]string{"prefers-b": "example.com/nic 1", "requires-c": "example.com/licence 1, example.com/nic 1, example.org/x 1"} {
		if got := s.asked(t, c, name, pod("p").Obj()).Requests.Extended.String(); got != want {
			t.Errorf("a pod of %s requests %q, want %q", name, got, want)
		}
	}
}

// TestDefaultSpread checks that the default topology spread constraints of a profile apply to a pod
// that a Service selects.
func TestDefaultSpread(t *testing.T) {
	c, err := ReadConfiguration([]byte(header+"profiles: [{schedulerName: numalet-scheduler}]"), options())
	if err != nil {
		t.Fatal(err)
	}
	service := &v1.Service{Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	service.Name, service.Namespace = "web", "default"
	s := newTiers(newScene(t), "a", "b")
	client := fake.NewClientset(service)
	api := API{Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Configuration: c}
	if s.proposer, err = NewProposer(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	api.Informers.Start(t.Context().Done())
	api.Informers.WaitForCacheSync(t.Context().Done())
	if err := s.bind(liking("first").Node("a").Obj()); err != nil {
		t.Fatal(err)
	}
	nodes := []*sched.Node{s.state.Record("a"), s.state.Record("b")}
	s.proposer.Begin(s.request(liking("second").Obj()))
	if s.proposer.Preferring(2) != 2 {
		t.Fatal("nodes are not rated")
	}
	s.proposer.Prefer(nodes, func(ratings []int64) int {
		if ratings[0] >= ratings[1] {
			t.Errorf("ratings %v: want more for the node without a pod of the service", ratings)
		}
		return 1
	})
}

// TestUnknownFields checks that a configuration with an unknown field is refused.
func TestUnknownFields(t *testing.T) {
	_, err := ReadConfiguration([]byte(header+"profile: []\n"), options())
	if err == nil || !strings.Contains(err.Error(), `unknown field "profile"`) {
		t.Errorf("error %v, want that a field is unknown", err)
	}
}

// TestNodeSetsOfProfiles checks the cached set of the nodes that the rules of a pod (such as its
// node selector) admit. When a node changes, the profile of that pod must decide whether the node
// stays in the set, even if a pod of another profile was filtered last.
func TestNodeSetsOfProfiles(t *testing.T) {
	c, err := ReadConfiguration([]byte(twoProfiles), options())
	if err != nil {
		t.Fatal(err)
	}
	s := newTiers(newScene(t), "a", "b")
	client := fake.NewClientset()
	api := API{Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Configuration: c}
	if s.proposer, err = NewProposer(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	selects := pod("p").NodeSelector(map[string]string{"disk": "ssd"}).Obj()
	s.proposer.Begin(s.asked(t, c, "numalet-scheduler", selects))
	s.proposer.Begin(s.asked(t, c, "requires-c", pod("q").Obj()))
	s.setNode(node("a").Label("disk", "ssd").Unschedulable(true).Obj())
	s.proposer.Begin(s.asked(t, c, "numalet-scheduler", selects))
	want := sched.Tally{
		{Code: sched.Other, Detail: "node(s) were unschedulable"}:                        1,
		{Code: sched.Other, Detail: "node(s) didn't match Pod's node affinity/selector"}: 1,
	}
	if diff := cmp.Diff(want, s.proposer.Refusals()); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

package filters

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// scene is a cluster for tests, with the filters of a proposer (NewProposer), of a planner
// (NewPlanner) and of the committer (NewCommitter).
type scene struct {
	*testing.T
	state     *nodestate.State
	cluster   *Cluster
	nodes     []string
	proposer  *Proposer
	planner   *Proposer
	committer *Committer
}

// newScene returns a scene without nodes. Its fake API server has the given objects.
func newScene(t *testing.T, objects ...runtime.Object) *scene {
	t.Helper()
	s := &scene{T: t}
	s.state, s.cluster = newCluster(t, "cpu", filter.Profile{Policy: distbucket.FirstFit, Candidates: 1})
	client := fake.NewClientset(objects...)
	api := newAPI(t, client)
	var err error
	if s.proposer, err = NewProposer(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	if s.planner, err = NewPlanner(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	if s.committer, err = NewCommitter(t.Context(), s.cluster, api, nil); err != nil {
		t.Fatal(err)
	}
	api.Informers.Start(t.Context().Done())
	api.Informers.WaitForCacheSync(t.Context().Done())
	return s
}

// newAPI returns an API with the plugins for volumes and devices.
func newAPI(t testing.TB, client kubernetes.Interface) API {
	t.Helper()
	api := API{Client: client, Informers: informers.NewSharedInformerFactory(client, 0)}
	var err error
	if api.Claims, err = NewClaims(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	return api
}

// newCluster returns a state without nodes, and a Cluster that is subscribed to this state.
func newCluster(t testing.TB, dimensions string, p filter.Profile) (*nodestate.State, *Cluster) {
	t.Helper()
	state := nodestatetest.New(t, dimensions, p)
	cluster := NewCluster(state)
	state.Subscribe(cluster.Observe)
	return state, cluster
}

// The method `with` adds nodes and bound pods to the scene, and returns the scene.
func (s *scene) with(nodes []*v1.Node, pods ...*v1.Pod) *scene {
	s.Helper()
	for _, n := range nodes {
		s.setNode(n)
		s.nodes = append(s.nodes, n.Name)
	}
	for _, p := range pods {
		if err := s.bind(p); err != nil {
			s.Fatal(err)
		}
	}
	return s
}

func (s *scene) setNode(n *v1.Node) {
	all := n.Status.Allocatable
	s.state.SetNode(&sched.Node{Name: n.Name, Foreign: n, Allocatable: sched.Amounts{
		CPU: sched.MilliCPU(all.Cpu().MilliValue()), Memory: sched.Bytes(all.Memory().Value()), Pods: int(all.Pods().Value()),
	}})
}

// bind adds a bound pod. The error names affinity terms that are invalid.
func (s *scene) bind(p *v1.Pod) error {
	known, err := NewBoundPod(p, s.state.Assignment(string(p.UID)))
	s.state.Adopt(nodestate.Assignment{UID: string(p.UID), Node: p.Spec.NodeName, Foreign: known})
	return err
}

// request returns the pod as a sched.Pod. It sets only the most important fields.
func (s *scene) request(pod *v1.Pod) *sched.Pod {
	s.Helper()
	foreign, err := NewPod(pod)
	if err != nil {
		s.Fatal(err)
	}
	return &sched.Pod{UID: string(pod.UID), Name: pod.Name, Across: foreign.Across(), Reserves: foreign.claim, Foreign: foreign}
}

// read returns the pod as a sched.Pod. Unlike the method `request`, it calls Reader.ReadPod, as the
// controller does, and so sets all fields that the filters determine.
func (s *scene) read(pod *v1.Pod) *sched.Pod {
	s.Helper()
	request := &sched.Pod{UID: string(pod.UID), Name: pod.Name}
	if err := (Reader{Cluster: s.cluster}).ReadPod(pod, request); err != nil {
		s.Fatal(err)
	}
	return request
}

// judge returns why the filters refuse nodes for a pod: the reason for each refused node, by node
// name, and the summary of these reasons.
func (s *scene) judge(f sched.Filter, pod *v1.Pod) (map[string]string, string) {
	s.Helper()
	against, tally := s.refusals(f, s.request(pod))
	return against, tally.String()
}

// refusals is like the method `judge`, but takes a sched.Pod, and returns the summary as the number
// of nodes for each reason.
func (s *scene) refusals(f sched.Filter, pod *sched.Pod) (map[string]string, sched.Tally) {
	against, tally := map[string]string{}, sched.Tally{}
	_, nowhere := f.Begin(pod)
	for _, name := range s.nodes {
		why := nowhere
		if !why.Refuses() {
			why = f.Check(s.state.Record(name))
		}
		if why.Refuses() {
			against[name] = why.String()
			tally[why]++
		}
	}
	return against, tally
}

func node(name string) *st.NodeWrapper {
	return st.MakeNode().Name(name).Label(v1.LabelHostname, name).
		Capacity(map[v1.ResourceName]string{"cpu": "4", "memory": "8Gi", "pods": "10"})
}

func pod(name string) *st.PodWrapper { return st.MakePod().Name(name).UID(name).Namespace("default") }

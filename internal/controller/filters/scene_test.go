package filters

import (
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// scene is a cluster, and the filters that look at it.
type scene struct {
	*testing.T
	cluster   *Cluster
	nodes     []string
	homes     map[string]*home
	proposer  *Proposer
	planner   *Proposer
	committer *Committer
}

// newScene returns a scene without nodes, with an API server that has those
// objects.
func newScene(t *testing.T, objects ...runtime.Object) *scene {
	t.Helper()
	s := &scene{T: t, cluster: NewCluster(), homes: map[string]*home{}}
	client := fake.NewClientset(objects...)
	api := API{Client: client, Informers: informers.NewSharedInformerFactory(client, 0)}
	var err error
	if s.proposer, err = NewProposer(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	if s.planner, err = NewPlanner(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	if s.committer, err = NewCommitter(t.Context(), s.cluster, api); err != nil {
		t.Fatal(err)
	}
	api.Informers.Start(t.Context().Done())
	api.Informers.WaitForCacheSync(t.Context().Done())
	return s
}

// with enters nodes, and pods that are bound.
func (s *scene) with(nodes []*v1.Node, pods ...*v1.Pod) *scene {
	s.Helper()
	for _, n := range nodes {
		s.cluster.SetNode(n)
		s.nodes = append(s.nodes, n.Name)
	}
	for _, p := range pods {
		if err := s.cluster.SetPod(p); err != nil {
			s.Fatal(err)
		}
	}
	return s
}

// ask returns the pod in the scheduler's terms.
func (s *scene) ask(pod *v1.Pod) *sched.Pod {
	s.Helper()
	foreign, err := NewPod(pod)
	if err != nil {
		s.Fatal(err)
	}
	return &sched.Pod{UID: string(pod.UID), Name: pod.Name, Across: foreign.Across(), Foreign: foreign}
}

// judge returns what a filter has against each node, and all of it in a sentence.
func (s *scene) judge(f sched.Filter, pod *v1.Pod) (map[string]string, string) {
	s.Helper()
	against, tally := map[string]string{}, sched.Tally{}
	_, nowhere := f.Begin(s.ask(pod))
	for _, name := range s.nodes {
		why := nowhere
		if !why.Refuses() {
			why = f.Check(s.record(name))
		}
		if why.Refuses() {
			against[name] = why.String()
			tally[why]++
		}
	}
	return against, tally.String()
}

// record returns a record of a node, whose home stays the same whatever comes and goes
// of that name: longer than a centre would have it.
func (s *scene) record(name string) *sched.Node {
	if s.homes[name] == nil {
		s.homes[name] = &home{}
	}
	return &sched.Node{Name: name, Home: s.homes[name]}
}

// home keeps what filters note, and nothing else.
type home struct{ note atomic.Value }

func (h *home) Newest() *sched.Node { return nil }
func (h *home) Note() *atomic.Value { return &h.note }

func node(name string) *st.NodeWrapper {
	return st.MakeNode().Name(name).Label(v1.LabelHostname, name).
		Capacity(map[v1.ResourceName]string{"cpu": "4", "memory": "8Gi", "pods": "10"})
}

func pod(name string) *st.PodWrapper { return st.MakePod().Name(name).UID(name).Namespace("default") }

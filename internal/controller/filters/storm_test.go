package filters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestStorm schedules twice as many pods as fit, with 1, 4 and 16 proposers (goroutines that list
// nodes for pods), while every third Binding fails. There are two kinds of pods, and a node can
// hold only one pod of each kind. The test checks that in the end each node has exactly one pod of
// each kind.
func TestStorm(t *testing.T) {
	const nodes = 6
	var pods []*v1.Pod
	for i := range 2 * nodes {
		pods = append(pods,
			pod(fmt.Sprint("lone-", i)).Label("kind", "lone").PodAntiAffinityExists("kind", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq).Obj(),
			pod(fmt.Sprint("port-", i)).Label("listens", "80").HostPort(80).Obj())
	}
	want := map[string]int{}
	for i := range nodes {
		want[fmt.Sprintf("node-%d lone", i)], want[fmt.Sprintf("node-%d port", i)] = 1, 1
	}
	for n := 1; n <= 16; n *= 4 {
		t.Run(fmt.Sprintf("proposers=%d", n), func(t *testing.T) {
			got := map[string]int{}
			for _, d := range storm(t, n, nodes, pods) {
				got[d.At.Node+" "+d.Pod.Name[:4]]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pods on nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStormOfPreferences schedules pods that prefer to be apart, with several proposers. It checks
// that all pods are placed, and that each node gets some of them, although the proposers rate nodes
// at the same time.
func TestStormOfPreferences(t *testing.T) {
	const nodes = 6
	var pods []*v1.Pod
	for i := range 5 * nodes {
		pods = append(pods, pod(fmt.Sprint("web-", i)).Label("app", "web").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithPreferredReq).Obj())
	}
	used := map[string]bool{}
	bound := storm(t, 8, nodes, pods)
	for _, d := range bound {
		used[d.At.Node] = true
	}
	if len(bound) != len(pods) || len(used) != nodes {
		t.Errorf("%d of %d pods are on %d of %d nodes, want all on all", len(bound), len(pods), len(used), nodes)
	}
}

// storm runs proposers and the committer until no pod is pending, and returns the decisions for the
// bound pods, by UID.
func storm(t *testing.T, proposers, nodes int, pods []*v1.Pod) map[string]sched.Decision {
	t.Helper()
	s := &scene{T: t}
	client := fake.NewClientset()
	api := newAPI(t, client)
	c := stormState(s, nodes)
	second, err := NewCommitter(t.Context(), s.cluster, api, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := pipeline.Config{Filter: second, Binders: 3}
	for i := range proposers {
		first, err := NewProposer(t.Context(), s.cluster, api)
		if err != nil {
			t.Fatal(err)
		}
		config.Proposers = append(config.Proposers, pipeline.ProposerOptions{Filter: first, Rand: rand.New(rand.NewPCG(uint64(i), 7))})
	}
	api.Informers.Start(t.Context().Done())
	api.Informers.WaitForCacheSync(t.Context().Done())
	var requests []*sched.Pod
	for _, p := range pods {
		requests = append(requests, s.request(p))
	}
	queue := schedtest.NewQueue(requests, func() uint64 { return c.View().FreedSeq })
	bound := map[string]sched.Decision{}
	config.Bind = failing(second, func(d sched.Decision) { bound[d.Pod.UID] = d; queue.Done() })
	if err := pipeline.New(c, queue, config).Run(t.Context()); !errors.Is(err, schedtest.ErrDrained) {
		t.Fatalf("run cycle: %v", err)
	}
	return bound
}

func stormState(s *scene, nodes int) *nodestate.State {
	s.Helper()
	s.state, s.cluster = newCluster(s, "cpu", filter.Profile{Policy: distbucket.LeastFit})
	for i := range nodes {
		n := node(fmt.Sprint("node-", i)).Capacity(map[v1.ResourceName]string{"pods": "100"}).Obj()
		s.with([]*v1.Node{n})
	}
	return s.state
}

// failing returns a function that binds pods. Every third call of this function fails.
func failing(c *Committer, bound func(sched.Decision)) func(context.Context, sched.Decision, func()) error {
	var mu sync.Mutex
	tries := 0
	return func(ctx context.Context, d sched.Decision, detach func()) error {
		return c.Bind(ctx, d, detach, func() error {
			mu.Lock()
			defer mu.Unlock()
			if tries++; tries%3 == 0 {
				return errors.New("the API server is away")
			}
			bound(d)
			return nil
		})
	}
}

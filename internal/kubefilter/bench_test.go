package kubefilter

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
	"github.com/numalet/numalet/pkg/sched/center"
	"github.com/numalet/numalet/pkg/sched/commit"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/propose"
)

// The figures in docs/performance.md come from
//
//	CGO_ENABLED=0 go test -trimpath ./internal/kubefilter -run '^$' -bench . -cpu 1
//
// and a change is judged by ten runs before and after (-count 10) with
// golang.org/x/perf/cmd/benchstat.

// BenchmarkFilter measures PreFilter, and Filter of so many nodes.
func BenchmarkFilter(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		p, _, records := servers(b, nodes)
		ask := wanted(b, "p")
		for _, candidates := range []int{1, 4} {
			b.Run(fmt.Sprintf("nodes=%d/candidates=%d", nodes, candidates), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, why := p.Begin(ask); why.Refuses() {
						b.Fatal(why)
					}
					for j := range candidates {
						if why := p.Check(records[(i*candidates+j)%nodes]); why.Refuses() {
							b.Fatal(why)
						}
					}
				}
			})
		}
	}
}

// BenchmarkDecide measures one decision with all filters, first list to commit,
// on one core. What was placed ends now and then, so that the fill stays.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		for _, wide := range []int{1, center.DefaultWide} {
			b.Run(fmt.Sprintf("nodes=%d/candidates=%d", nodes, wide), func(b *testing.B) { decide(b, nodes, wide) })
		}
	}
}

func decide(b *testing.B, nodes, wide int) {
	first, second, records := servers(b, nodes)
	space, err := filter.ParseSpace("gpus,cpu,memory")
	if err != nil {
		b.Fatal(err)
	}
	c, err := center.New(center.Profile{Space: space, Theta: []int64{1, 1000, 1 << 30}, Policy: bucket.LeastFit, Wide: wide})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range records {
		c.SetNode(r)
	}
	p := propose.New(c.View, propose.Options{Filter: first, Rand: rand.New(rand.NewPCG(1, 1))})
	m := commit.New(c, second, commit.Env{
		Bind:    func(sched.Decision) {},
		Requeue: func(*sched.Pod) { b.Fatal("lost without a rival") },
		Park:    func(*sched.Pod, uint64) { b.Fatal("no node suits") },
	})
	pods := make([]*sched.Pod, 256)
	for i := range pods {
		pods[i] = wanted(b, strconv.Itoa(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Commit(p.Propose(pods[i%len(pods)]))
		if i%len(pods) == len(pods)-1 {
			b.StopTimer()
			for _, pod := range pods {
				first.lister.cluster.RemovePod(pod.Foreign.(*Pod).info.Pod.UID)
				c.Release(pod.UID)
			}
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// servers returns both tiers' filters over so many servers of 64 CPUs and 8
// cards, each with 20 pods, and their records.
func servers(b *testing.B, nodes int) (*Proposer, *Committer, []*sched.Node) {
	b.Helper()
	cluster := NewCluster()
	client := fake.NewClientset()
	api := API{Client: client, Informers: informers.NewSharedInformerFactory(client, 0)}
	first, err := NewProposer(b.Context(), cluster, api)
	if err != nil {
		b.Fatal(err)
	}
	second, err := NewCommitter(b.Context(), cluster, api)
	if err != nil {
		b.Fatal(err)
	}
	api.Informers.Start(b.Context().Done())
	api.Informers.WaitForCacheSync(b.Context().Done())
	records := make([]*sched.Node, nodes)
	for i := range records {
		records[i] = server(b, cluster, fmt.Sprintf("node-%05d", i))
	}
	return first, second, records
}

func server(b *testing.B, c *Cluster, name string) *sched.Node {
	c.SetNode(st.MakeNode().Name(name).Label(v1.LabelHostname, name).Label("zone", name[len(name)-1:]).
		Capacity(map[v1.ResourceName]string{"cpu": "64", "memory": "512Gi", "pods": "250", "nvidia.com/gpu": "8"}).Obj())
	for i := range 20 {
		uid := fmt.Sprint(name, "-", i)
		if err := c.SetPod(pod(uid).Label("app", "web").Req(map[v1.ResourceName]string{"cpu": "100m", "memory": "1Gi"}).Node(name).Obj()); err != nil {
			b.Fatal(err)
		}
	}
	record := &sched.Node{Name: name, Allocatable: sched.Amounts{
		CPU: 62_000, Memory: 492 << 30, Pods: 230, Extended: map[string]int64{"nvidia.com/gpu": 8},
	}}
	for i := range 8 {
		record.GPUs = append(record.GPUs, sched.GPU{ID: fmt.Sprint(i), Type: "H200", Free: sched.WholeGPU})
	}
	return record
}

// wanted returns a pod that asks for a CPU and a card.
func wanted(b *testing.B, name string) *sched.Pod {
	foreign, err := NewPod(pod(name).Label("app", "web").
		Req(map[v1.ResourceName]string{"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}).Obj())
	if err != nil {
		b.Fatal(err)
	}
	return &sched.Pod{
		UID: name, Name: name, Foreign: foreign, GPUs: sched.GPUAsk{Count: 1, Milli: sched.WholeGPU},
		Requests: sched.Amounts{CPU: 1000, Memory: 1 << 30, Pods: 1, Extended: map[string]int64{"nvidia.com/gpu": 1}},
	}
}

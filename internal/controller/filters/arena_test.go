package filters

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// most is the largest number of proposers (goroutines that list nodes for pods) in the benchmarks.
const most = 8

// arena is a cluster of partly used servers for benchmarks. The field `first` has the filters of
// the proposers, which list nodes for pods. The field `second` has the filters of the committer,
// which decides the node.
type arena struct {
	*testing.B
	cluster *Cluster
	first   []*Proposer
	second  *Committer
	records []*sched.Node          // of the servers, as if they had no pods
	placed  []nodestate.Assignment // the pods on the servers
}

// newArena returns an arena of servers with 64 CPUs, 512 GiB and 8 GPUs. Each has the given number
// of pods, which together use about the fraction given as `fill` (0 to 1) of its CPUs and of its
// memory. The fake API server has a default Namespace and the given objects.
func newArena(b *testing.B, servers, pods int, fill float64, objects ...apiruntime.Object) *arena {
	b.Helper()
	client := fake.NewClientset(append(objects, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})...)
	a := &arena{B: b, cluster: NewCluster(nil)}
	api := newAPI(b, client)
	var err error
	for range most {
		p, err := NewProposer(b.Context(), a.cluster, api)
		if err != nil {
			b.Fatal(err)
		}
		a.first = append(a.first, p)
	}
	if a.second, err = NewCommitter(b.Context(), a.cluster, api, nil); err != nil {
		b.Fatal(err)
	}
	api.Informers.Start(b.Context().Done())
	api.Informers.WaitForCacheSync(b.Context().Done())
	r := rand.New(rand.NewPCG(1, 1))
	for i := range servers {
		a.addServer(fmt.Sprintf("node-%06d", i))
		a.use(r, a.records[i].Name, pods, fill)
	}
	return a
}

func (a *arena) addServer(name string) {
	object := st.MakeNode().Name(name).Label(v1.LabelHostname, name).Label("zone", name[len(name)-1:]).
		Capacity(map[v1.ResourceName]string{"cpu": "64", "memory": "512Gi", "pods": "250", "nvidia.com/gpu": "8"}).Obj()
	record := &sched.Node{Name: name, Foreign: object, Allocatable: sched.Amounts{
		CPU: 64_000, Memory: 512 << 30, Pods: 250, Extended: sched.ExtendedOf(map[string]int64{"nvidia.com/gpu": 8}),
	}}
	for i := range 8 {
		record.GPUs = append(record.GPUs, sched.GPU{ID: fmt.Sprint(i), Type: "H200", Free: sched.WholeGPU})
	}
	a.records = append(a.records, record)
}

// The method `use` fills a server with a number of pods. Together they use about the fraction given
// as `fill` of its CPUs and of its memory. CPU and memory deviate from this fraction at random,
// independently of each other.
func (a *arena) use(r *rand.Rand, server string, pods int, fill float64) {
	share := func(of float64) int64 {
		return int64(of * min(1, max(0, fill+min(fill, 1-fill)*r.NormFloat64())) / float64(pods))
	}
	cpu, memory := share(64_000), share(512<<30)
	for i := range pods {
		p := a.pod(fmt.Sprintf("%s-%d", server, i), cpu, memory, 0)
		p.Foreign.(*Pod).info.Pod.Spec.NodeName = server
		a.placed = append(a.placed, nodestate.Assignment{UID: p.UID, Node: server, Holding: sched.Holding{Amounts: p.Requests}, Foreign: p.Foreign})
	}
}

// pod returns a pod with the given requests. The parameter `cpu` is in thousandths of a CPU,
// `memory` is in bytes, and `gpus` is a number of GPUs.
func (a *arena) pod(name string, cpu, memory, gpus int64) *sched.Pod {
	a.Helper()
	requests := v1.ResourceList{"cpu": *resource.NewMilliQuantity(cpu, resource.DecimalSI), "memory": *resource.NewQuantity(memory, resource.BinarySI)}
	p := &sched.Pod{UID: name, Name: name, Namespace: "default", Requests: sched.Amounts{CPU: sched.MilliCPU(cpu), Memory: sched.Bytes(memory), Pods: 1}}
	if gpus > 0 {
		requests["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
		p.Requests.Extended = sched.ExtendedOf(map[string]int64{"nvidia.com/gpu": gpus})
		p.GPUs = sched.GPURequest{Count: int(gpus), Milli: sched.WholeGPU}
	}
	object := st.MakePod().Name(name).UID(name).Namespace("default").Label("app", "web").Container("web").Obj()
	object.Spec.Containers[0].Resources.Requests = requests
	foreign, err := NewPod(object)
	if err != nil {
		a.Fatal(err)
	}
	p.Foreign = foreign
	return p
}

// newState returns a new state with the servers and pods of the arena, and makes the filters use
// this state. The state's index finds nodes by the free amounts of certain resources. These are the
// resources of the controller's default index. newState runs the garbage collector, so that a
// benchmark that follows starts without garbage.
func (a *arena) newState(policy distbucket.Policy) *nodestate.State {
	a.Helper()
	c := nodestatetest.New(a, "cpu,memory,pods,numa-total,nvidia.com/gpu", filter.Profile{Theta: []int64{100, 128 << 20, 1, 1, 1}, Policy: policy})
	a.cluster.state, a.cluster.sets = c, tracked{}
	c.Subscribe(a.cluster.Observe)
	for _, r := range a.records {
		c.SetNode(r)
	}
	for _, p := range a.placed {
		c.Adopt(p)
	}
	c.View() // builds the indexes
	runtime.GC()
	return c
}

// end releases the resources that the given pods hold in the state c. It ignores pods that have no
// node.
func (a *arena) end(c *nodestate.State, pods ...*sched.Pod) {
	for _, p := range pods {
		c.Release(p.UID)
	}
}

// small returns pods that fit on each server that has 1 % of its CPUs and memory free.
func (a *arena) small(count int) []*sched.Pod {
	pods := make([]*sched.Pod, count)
	for i := range pods {
		pods[i] = a.pod(fmt.Sprint("small-", i), 500, 4<<30, 0)
	}
	return pods
}

// edges returns pods that just fail to fit on any node, because the search for a node takes longest
// for such pods. The ratio of CPU to memory in a pod's requests is random. For each pod, edges
// computes the largest amounts with this ratio that fit on at least one node. It then adds about a
// thousandth of a CPU to the CPUs, and about a byte to the memory.
func (a *arena) edges(c *nodestate.State, count int) []*sched.Pod {
	r := rand.New(rand.NewPCG(2, 2))
	var pods []*sched.Pod
	for i := range count {
		cpus, memory := 64_000*(0.05+r.Float64()), (512<<30)*(0.05+r.Float64())
		reach := 0.0
		for n := range c.View().Nodes() {
			reach = max(reach, min(float64(n.Free.CPU)/cpus, float64(n.Free.Memory)/memory))
		}
		pods = append(pods, a.pod(fmt.Sprint("edge-", i), int64(math.Round(cpus*reach))+1, int64(math.Round(memory*reach))+1, 0))
	}
	return pods
}

// meter measures the CPU time of the process between calls of `start` and `stop`. Other programs on
// the machine affect the CPU time less than they affect the elapsed time.
type meter struct{ since, spent time.Duration }

func (m *meter) start() { m.since = processorTime() }
func (m *meter) stop()  { m.spent += processorTime() - m.since }

// report reports the CPU time per operation.
func (m *meter) report(b *testing.B, operations int) {
	b.ReportMetric(float64(m.spent.Nanoseconds())/1e3/float64(operations), "cpu-µs/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for an invalid first argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

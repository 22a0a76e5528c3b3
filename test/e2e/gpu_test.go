//go:build e2e

package e2e

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/kit"
	"github.com/numalet/numalet/test/fakenvml"
)

const (
	whole  = "nvidia.com/gpu"
	small  = "nvidia.com/mig-1g.10gb"
	medium = "nvidia.com/mig-2g.20gb"
	// faulty is the only slice of the profile medium, on the card that is sickened.
	faulty  = "MIG-fa4e0703-0000-0000-0000-000000000000"
	sickens = "xid GPU-fa4e0007-0000-0000-0000-000000000000 94 3 0"
)

// TestGPU gives the machine eight fake GPUs, two of them in MIG mode, and is
// itself the controller that decides who gets which.
func TestGPU(t *testing.T) {
	limit := 10*time.Minute + time.Duration(*gpuPods)*30*time.Second
	ctx := start(t, limit, append(gpuNames(*gpuPods), "aligned", "first", "second", "slice", "both")...)
	withGPUs(ctx, t)
	t.Run("Churn", func(t *testing.T) { gpuChurn(ctx, t) })
	t.Run("Aligned", func(t *testing.T) { gpuAligned(ctx, t) })
	t.Run("Rejected", func(t *testing.T) { gpuRejected(ctx, t) })
	t.Run("Fault", func(t *testing.T) { gpuFault(ctx, t) })
	t.Run("CDI", func(t *testing.T) { gpuCDI(ctx, t) })
}

// withGPUs installs the fake driver and deploy/gpu until the test ends.
func withGPUs(ctx context.Context, t *testing.T) {
	t.Helper()
	fake := fakenvml.New(t, fakenvml.Eight)
	_, err := cluster.Shell(ctx, "mkdir -p /usr/lib/x86_64-linux-gnu /etc/fakenvml && : >/etc/fakenvml/layout.events")
	must(t, err)
	must(t, cluster.Copy(ctx, fake.Library, "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"))
	must(t, cluster.Copy(ctx, fakenvml.Path(fakenvml.Eight), "/etc/fakenvml/layout"))
	t.Cleanup(func() { apply(context.Background(), t, "../../deploy/cluster") })
	apply(ctx, t, "gpu")
	awaitNode(ctx, t, func(n *corev1.Node) string {
		return cmp.Diff(map[string]int64{whole: 6, small: 2, medium: 1}, devices(n.Status.Allocatable, whole, small, medium))
	})
}

func apply(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, "kubectl", "apply", "-k", dir).CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply -k %s: %v: %s", dir, err, out)
	}
	rollOut(ctx, t)
}

func devices(list corev1.ResourceList, names ...string) map[string]int64 {
	counts := map[string]int64{}
	for _, name := range names {
		q := list[corev1.ResourceName(name)]
		counts[name] = q.Value()
	}
	return counts
}

// gpuChurn lets pods of one or two cards come and go, as many at one time as there
// are cards. Each gets the cards decided on, drawn by chance: it sees them, and
// the kubelet says so.
func gpuChurn(ctx context.Context, t *testing.T) {
	t.Logf("seed %d: repeat with -seed %[1]d", *seed)
	free := &cards{rand: rand.New(rand.NewPCG(*seed, 3)), free: wholeCards()}
	next := make(chan int)
	var workers sync.WaitGroup
	for range 5 {
		workers.Go(func() {
			for i := range next {
				churnGPUs(ctx, t, free, i)
			}
		})
	}
	for i := range *gpuPods {
		next <- i
	}
	close(next)
	workers.Wait()
	t.Logf("%d pods came and went on %d cards; the kubelet said of %d of them, while they ran, that they have the cards decided on", *gpuPods, len(wholeCards()), free.seen.Load())
}

func churnGPUs(ctx context.Context, t *testing.T, free *cards, i int) {
	name, count := gpuNames(i + 1)[i], 1+i%3/2
	ids := free.take(count)
	defer free.put(ids)
	bindGPUs(ctx, t, gpuPod(name, 5*time.Second, map[string]int{whole: count}), v1alpha1.ContainerPlacement{GPUs: ids})
	pod, err := cluster.Await(ctx, name, func(p *corev1.Pod) bool { return kit.Running(p) || kit.Over(p) })
	if err != nil {
		t.Errorf("%s, decided on %v: %v", name, ids, err)
		return
	}
	if kit.Running(pod) && checkHolds(ctx, t, name, whole, ids) {
		free.seen.Add(1)
	}
	pod, err = cluster.Await(ctx, name, kit.Over)
	if err != nil || !kit.Succeeded(pod) {
		t.Errorf("%s, decided on %v: %v, %s: %s", name, ids, err, pod.Status.Reason, pod.Status.Message)
		return
	}
	if diff := cmp.Diff(ids, strings.Split(seen(pod)["gpus"], ",")); diff != "" {
		t.Errorf("%s sees GPUs (-decided +seen):\n%s", name, diff)
	}
}

// gpuAligned starts a container with two GPUs and four CPUs, all that a NUMA node
// of the machine has.
func gpuAligned(ctx context.Context, t *testing.T) {
	ids := wholeCards()[2:4]
	pod := kit.Once(kit.Pod("aligned", "single", kit.Container{Name: "c", CPU: "4"}))
	ask(pod, 3*time.Second, map[string]int{whole: 2})
	bindGPUs(ctx, t, pod, v1alpha1.ContainerPlacement{CPUs: map[int]int{1: 4}, GPUs: ids})
	done, err := cluster.Await(ctx, "aligned", kit.Succeeded)
	must(t, err)
	want := map[string]string{"gpus": strings.Join(ids, ","), "cpus": "4-7", "mems": "1"}
	if diff := cmp.Diff(want, seen(done)); diff != "" {
		t.Errorf("the container sees (-want +got):\n%s", diff)
	}
	topology, err := cluster.Topology(ctx, cluster.Node())
	must(t, err)
	for _, g := range topology.Status.GPUs {
		if slices.Contains(ids, g.ID) && (g.NUMA == nil || *g.NUMA != 1) {
			t.Errorf("%s is on NUMA node %v, want 1", g.ID, g.NUMA)
		}
	}
}

// gpuRejected decides on a card that another pod has: the second pod fails.
func gpuRejected(ctx context.Context, t *testing.T) {
	decided := v1alpha1.ContainerPlacement{GPUs: wholeCards()[:1]}
	bindGPUs(ctx, t, gpuPod("first", time.Hour, map[string]int{whole: 1}), decided)
	_, err := cluster.Await(ctx, "first", kit.Running)
	must(t, err)
	bindGPUs(ctx, t, gpuPod("second", time.Hour, map[string]int{whole: 1}), decided)
	failed, err := cluster.Await(ctx, "second", kit.Over)
	must(t, err)
	if why, told := v1alpha1.Rejection(failed); !told || !strings.Contains(why.Message, "the controller decided on "+decided.GPUs[0]) {
		t.Errorf("second: %+v", failed.Status)
	}
	checkHolds(ctx, t, "first", whole, decided.GPUs)
	must(t, cluster.Delete(ctx, "first", "second"))
}

// gpuFault sickens one slice of a card while a container has another.
func gpuFault(ctx context.Context, t *testing.T) {
	create(ctx, t, gpuPod("slice", time.Hour, map[string]int{small: 1}))
	_, err := cluster.Shell(ctx, "echo "+sickens+" >>/etc/fakenvml/layout.events")
	must(t, err)
	allocatable := func(want int64) func(*corev1.Node) string {
		return func(n *corev1.Node) string {
			return cmp.Diff(map[string]int64{whole: 6, small: 2, medium: want}, devices(n.Status.Allocatable, whole, small, medium))
		}
	}
	awaitTopology(ctx, t, func(s v1alpha1.NodeTopologyStatus) string { return cmp.Diff([]string{faulty}, unhealthy(s)) })
	awaitNode(ctx, t, allocatable(0))
	awaitTopology(ctx, t, func(s v1alpha1.NodeTopologyStatus) string { return cmp.Diff([]string(nil), unhealthy(s)) })
	awaitNode(ctx, t, allocatable(1))
	pod, err := cluster.Await(ctx, "slice", kit.Running)
	must(t, err)
	if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts > 0 {
		t.Errorf("the container beside the fault was started %d times more", restarts)
	}
}

func unhealthy(s v1alpha1.NodeTopologyStatus) (ids []string) {
	for _, g := range s.GPUs {
		if g.Health != "Healthy" {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

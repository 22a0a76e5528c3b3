//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

const (
	// turnLabel is the label with the number (turn) of a pod in TestTwoSchedulers. If a pod is
	// rejected, the pod that replaces it has the same number.
	turnLabel = "numalet-e2e-turn"
	// mostRejections is how many pods of one turn (see turnLabel) may be rejected. A pod is
	// rejected if the other of the two schedulers was faster.
	mostRejections = 2
)

// TestTwoSchedulers lets kube-scheduler and the controller assign the GPUs of one node at the same
// time, in a Namespace with the label numalet.dev/enforcement: advisory. In such a Namespace, pods
// with GPUs may use another scheduler than the controller. The test checks that no two pods use the
// same GPU at the same time. Each scheduler binds half of the pods. All pods are created at the
// beginning, so both schedulers try to bind a pod whenever a GPU becomes free.
func TestTwoSchedulers(t *testing.T) {
	ctx := start(t, 10*time.Minute+time.Duration(*mixedPods)*10*time.Second)
	withGPUs(ctx, t, "eight.layout", map[string]int64{whole: 6, small: 2, medium: 1})
	m := newMixed(ctx, t)
	stop := m.watchHolders(ctx)
	m.run(ctx, *mixedPods)
	samples := stop()
	for _, sentence := range e2eutil.UsedTwice(m.uses) {
		t.Error(sentence)
	}
	t.Logf("%d pods ran, half of them by each scheduler; the last of each after %v; rejections: %v; pods by number of rejections: %v; the kubelet was asked %d times who holds what",
		*mixedPods, m.last, m.why, m.histogram(), samples)
	m.checkBooks(ctx)
}

// mixed is the state of TestTwoSchedulers: the cluster with the test's Namespace, and the results
// of the pods.
type mixed struct {
	*testing.T
	e2eutil.Cluster
	began    time.Time
	over     map[types.UID]bool
	rejected map[int]int              // number of rejections, by the number of the pod (see turnLabel)
	why      map[string]int           // number of rejections, by scheduler and reason
	last     map[string]time.Duration // by scheduler: the time from the start of the test until its last pod succeeded
	uses     []e2eutil.Use
}

func newMixed(ctx context.Context, t *testing.T) *mixed {
	t.Helper()
	m := &mixed{T: t, Cluster: *cluster, began: time.Now(), over: map[types.UID]bool{}, rejected: map[int]int{}, why: map[string]int{}, last: map[string]time.Duration{}}
	m.Namespace = "mixed"
	all := m.API.CoreV1().Namespaces()
	_, err := all.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: m.Namespace, Labels: map[string]string{v1alpha1.LabelEnforcement: v1alpha1.EnforcementAdvisory},
	}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, all.Delete(context.Background(), m.Namespace, metav1.DeleteOptions{})) })
	for {
		_, err := m.API.CoreV1().ServiceAccounts(m.Namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return m
		}
		if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// watchHolders asks the kubelet again and again which container has which device, until the
// returned function `stop` is called. It checks that no two containers have the same device.
func (m *mixed) watchHolders(ctx context.Context) (stop func() (samples int)) {
	watching, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	samples := 0
	watcher.Go(func() {
		for ; watching.Err() == nil; time.Sleep(2 * time.Second) {
			all, err := m.Holders(ctx)
			if err != nil {
				m.Logf("holders: %v", err) // no failure of the test: the kubelet of a busy node may answer too late
				continue
			}
			samples++
			for _, sentence := range e2eutil.GivenTwice(all) {
				m.Error(sentence)
			}
		}
	})
	return func() int { cancel(); watcher.Wait(); return samples }
}

// run creates all pods. For each rejected pod it creates a new one with the same number (see
// turnLabel). It returns when one pod of each number has succeeded.
func (m *mixed) run(ctx context.Context, pods int) {
	m.Helper()
	events := watchPods(ctx, m.T)
	for turn := range pods {
		m.create(ctx, turn, 5*time.Second)
	}
	for done := 0; done < pods; {
		select {
		case <-ctx.Done():
			m.Fatalf("%d of %d pods ran; rejections: %v", done, pods, m.why)
		case e := <-events:
			pod, is := e.Object.(*corev1.Pod)
			if !is || pod.Namespace != m.Namespace || m.over[pod.UID] || !v1alpha1.Ended(pod) {
				continue
			}
			m.over[pod.UID] = true
			if m.ended(ctx, pod) {
				done++
			}
		}
	}
}

// ended records a pod that has ended, and reports whether the pod has succeeded. If the pod was
// rejected, the method creates a new one.
func (m *mixed) ended(ctx context.Context, pod *corev1.Pod) (ran bool) {
	turn, err := strconv.Atoi(pod.Labels[turnLabel])
	must(m.T, err)
	if ran = e2eutil.Succeeded(pod); ran {
		m.note(pod)
		m.last[pod.Spec.SchedulerName] = time.Since(m.began).Round(time.Second)
	} else {
		m.reject(pod, turn)
		m.create(ctx, turn, 5*time.Second)
	}
	err = m.API.CoreV1().Pods(m.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	must(m.T, err)
	return ran
}

// note records which GPUs a pod used, and checks that the pod saw as many as it requested. If the
// controller scheduled the pod, these must be the GPUs that the controller assigned.
func (m *mixed) note(pod *corev1.Pod) {
	if pod.Spec.SchedulerName == e2eutil.Scheduler {
		checkSaw(m.T, pod)
	}
	done := pod.Status.ContainerStatuses[0].State.Terminated
	gpus := strings.Split(seen(done.Message)["gpus"], ",")
	if want := pod.Spec.Containers[0].Resources.Limits[whole]; int64(len(gpus)) != want.Value() {
		m.Errorf("%s saw %v, want %v GPUs", pod.Name, gpus, want.Value())
	}
	for _, gpu := range gpus {
		m.uses = append(m.uses, e2eutil.Use{Device: gpu, Pod: pod.Name, From: done.StartedAt.Time, To: done.FinishedAt.Time})
	}
}

func (m *mixed) reject(pod *corev1.Pod, turn int) {
	reason := pod.Status.Reason
	if _, told := v1alpha1.Rejection(pod); told {
		reason = v1alpha1.ReasonPlacementRejected
	}
	m.why[pod.Spec.SchedulerName+" "+reason]++
	m.rejected[turn]++
	m.Logf("%s of %s: %s: %s", pod.Name, pod.Spec.SchedulerName, reason, pod.Status.Message)
	if reason == "" {
		m.Errorf("%s failed: %+v", pod.Name, pod.Status)
	}
	if m.rejected[turn] > mostRejections {
		m.Errorf("%s is the %d. that was rejected in its turn", pod.Name, m.rejected[turn])
	}
}

// histogram returns a map. The key is a number of rejections, and the value is how many turns (see
// turnLabel) had that many rejections.
func (m *mixed) histogram() map[int]int {
	counts := map[int]int{0: *mixedPods - len(m.rejected)}
	for _, n := range m.rejected {
		counts[n]++
	}
	return counts
}

// create creates the pod with the number `turn` (see turnLabel). kube-scheduler schedules the pods
// with even numbers, and the controller those with odd numbers. Two of every six pods
// request two GPUs, and the others one.
func (m *mixed) create(ctx context.Context, turn int, life time.Duration) {
	m.Helper()
	gpus := 1
	if turn%6 > 3 {
		gpus = 2
	}
	pod := gpuPod(fmt.Sprintf("mixed-%03d-%d", turn, m.rejected[turn]), life, map[string]int{whole: gpus})
	pod.Labels = map[string]string{turnLabel: strconv.Itoa(turn)}
	pod.Spec.SchedulerName = []string{corev1.DefaultSchedulerName, e2eutil.Scheduler}[turn%2]
	_, err := m.Create(ctx, pod)
	must(m.T, err)
}

// checkBooks checks that the agent and the controller agree with the kubelet about which GPUs are
// in use. While pods hold four of six GPUs, the NodeTopology must list the same holders as the
// kubelet. The controller must assign the two free GPUs to one more pod, and let another pod wait.
func (m *mixed) checkBooks(ctx context.Context) {
	m.Helper()
	for turn := range 4 {
		turn += 1000 - 1000%6
		m.create(ctx, turn, time.Hour)
		_, err := m.Await(ctx, fmt.Sprintf("mixed-%03d-0", turn), e2eutil.Running)
		must(m.T, err)
	}
	held := m.agree(ctx)
	free := slices.DeleteFunc(wholeGPUs(), func(gpu string) bool { return held[gpu] != "" })
	_, err := m.Create(ctx, ofTenant(gpuPod("rest", time.Hour, map[string]int{whole: 2}), ""))
	must(m.T, err)
	rest, err := m.Await(ctx, "rest", e2eutil.Running)
	must(m.T, err)
	if got := gpusOf(m.T, rest)["c0"]; !slices.Equal(got, free) {
		m.Errorf("the controller gave %v, want %v, which were free", got, free)
	}
	m.agree(ctx)
	_, err = m.Create(ctx, ofTenant(gpuPod("none", time.Hour, map[string]int{whole: 1}), ""))
	must(m.T, err)
	waits, err := m.Await(ctx, "none", unschedulable)
	must(m.T, err)
	m.Logf("a pod beyond them waits: %s", e2eutil.WaitsFor(waits))
}

// agree waits until the NodeTopology and the kubelet name the same pods as holders of GPUs. It
// returns the pod that holds each GPU.
func (m *mixed) agree(ctx context.Context) map[string]string {
	m.Helper()
	all, err := m.Holders(ctx)
	must(m.T, err)
	kubelet := map[string]string{}
	for _, h := range all {
		for _, id := range h.IDs {
			kubelet[id] = h.Pod
		}
	}
	awaitTopology(ctx, m.T, func(s v1alpha1.NodeTopologyStatus) string {
		topology := map[string]string{}
		for _, h := range s.GPUHolders {
			for _, id := range h.Devices {
				topology[id] = h.Name
			}
		}
		return cmp.Diff(kubelet, topology)
	})
	m.Logf("kubelet and NodeTopology agree: %v", kubelet)
	return kubelet
}

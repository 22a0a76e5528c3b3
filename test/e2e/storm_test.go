//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/kit"
)

// stormPods is how many pods want the CPUs of two small nodes.
const stormPods = 500

// TestStorm lets hundreds of exclusive pods of all policies wait for the CPUs of
// two small nodes, the machine and a hollow one, through 8 proposers. Each is
// deleted as soon as it runs, or is bound to the hollow node, so that places
// change hands all the time. A watch over all pods sees no CPU promised twice
// at any time, no node rejects a placement, and every pod gets its turn. The
// controller runs beside the control plane: an emulated one is too slow for it.
func TestStorm(t *testing.T) {
	ctx := start(t, 15*time.Minute)
	t.Cleanup(func() { scaleControllers(context.Background(), t, 2) })
	scaleControllers(ctx, t, 0)
	counted := hostController(ctx, t, "--proposers=8")
	s := &storm{T: t, turn: map[types.UID]bool{}, promises: kit.Promises{Room: map[string]map[int]int{
		"hollow": {0: 4, 1: 4}, cluster.Node(): {0: 2, 1: 4, 2: 4, 3: 4},
	}}}
	began := time.Now()
	events, created := s.watch(ctx), make(chan bool)
	go func() { s.create(ctx); close(created) }()
	for s.gone < stormPods && !t.Failed() {
		select {
		case e := <-events:
			s.see(ctx, e)
		case <-created: // most of them wait now
			created = nil
			hollow(ctx, t, "hollow", 4, 4)
			t.Cleanup(func() { must(t, s.clear(context.Background())) })
		case <-ctx.Done():
			t.Fatalf("%d of %d pods were bound, %d are gone", s.promises.Bound, stormPods, s.gone)
		}
	}
	now := counted()
	t.Logf("%d pods bound in %v, %d of them ran; %g changed nodes still suited, %g no more; %g pods lost theirs; %g times nothing suited one",
		s.promises.Bound, time.Since(began).Round(time.Second), s.ran, now["numalet_scheduler_rechecks_passed_total"],
		now["numalet_scheduler_rechecks_failed_total"], now["numalet_scheduler_requeues_total"], now["numalet_scheduler_parked_total"])
	checkLives(ctx, t)
}

// hostController runs a controller beside the control plane until the test ends.
// The returned function returns its metrics.
func hostController(ctx context.Context, t *testing.T, args ...string) (counted func() kit.Series) {
	t.Helper()
	const address = "127.0.0.1:18125"
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd, err := cluster.Controller(ctx, *controllerBin, t.TempDir(), append(args, "--health-addr="+address)...)
	must(t, err)
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was told to end
	})
	return func() kit.Series {
		answer, err := http.Get("http://" + address + "/metrics")
		must(t, err)
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		must(t, err)
		counted, err := kit.ParseSeries(string(page))
		must(t, err)
		return counted
	}
}

// storm is the test and what it has seen.
type storm struct {
	*testing.T
	promises  kit.Promises
	turn      map[types.UID]bool // pods that have had theirs
	gone, ran int
}

// stormLabel is on all its pods.
const stormLabel = "numalet-e2e=storm"

// hollow makes a hollow node until the test ends.
func hollow(ctx context.Context, t *testing.T, name string, numaNodes ...int32) {
	t.Helper()
	alive, bury := context.WithCancel(context.WithoutCancel(ctx))
	t.Cleanup(func() {
		bury()
		must(t, cluster.Bury(context.Background(), name))
	})
	must(t, cluster.Hollow(alive, name, numaNodes...))
}

// watch tells of all pods of the cluster, in the order in which they were written.
func (s *storm) watch(ctx context.Context) <-chan apiwatch.Event {
	pods := cluster.API.CoreV1().Pods(metav1.NamespaceAll)
	list, err := pods.List(ctx, metav1.ListOptions{})
	must(s.T, err)
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return pods.Watch(ctx, o)
		},
	})
	must(s.T, err)
	return w.ResultChan()
}

// create makes the pods: of each policy in turn, with 1 to 4 CPUs.
func (s *storm) create(ctx context.Context) {
	for i := range stormPods {
		policy := []string{v1alpha1.PolicySpread, v1alpha1.PolicySingle, v1alpha1.PolicyRandom}[i%3]
		pod := kit.Pod(fmt.Sprintf("storm-%03d", i), policy, kit.Container{Name: "c", CPU: fmt.Sprint(1 + i/3%4)})
		pod.Labels = map[string]string{"numalet-e2e": "storm"}
		if _, err := cluster.API.CoreV1().Pods(cluster.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			s.Errorf("create: %v", err)
			return
		}
	}
}

// see checks what one event says, and ends a pod that has had its turn.
func (s *storm) see(ctx context.Context, e apiwatch.Event) {
	if err := s.promises.See(e); err != nil {
		s.Error(err)
		return
	}
	pod := e.Object.(*corev1.Pod)
	if pod.Spec.NodeName != "" && unschedulable(pod) {
		s.Errorf("pod %s is bound to %s, and said to be unschedulable", pod.Name, pod.Spec.NodeName)
	}
	_, ours := pod.Labels["numalet-e2e"]
	switch {
	case !ours:
	case e.Type == apiwatch.Deleted:
		s.gone++
	case s.turn[pod.UID]: // how it ends is not looked at
	case pod.Status.Phase == corev1.PodFailed:
		s.Errorf("pod %s failed on %s: %s %s", pod.Name, pod.Spec.NodeName, pod.Status.Reason, pod.Status.Message)
	case pod.Spec.NodeName == "hollow":
		s.end(ctx, pod, 0)
	case kit.Running(pod):
		s.ran++
		s.end(ctx, pod, 1)
	}
}

func (s *storm) end(ctx context.Context, pod *corev1.Pod, grace int64) {
	s.turn[pod.UID] = true
	if err := cluster.API.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(grace)); err != nil && ctx.Err() == nil {
		s.Errorf("delete: %v", err)
	}
}

// clear removes what a failed test left.
func (s *storm) clear(ctx context.Context) error {
	return cluster.API.CoreV1().Pods(cluster.Namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{LabelSelector: stormLabel})
}

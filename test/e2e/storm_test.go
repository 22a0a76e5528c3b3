//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
	"github.com/numalet/numalet/test/hollowcluster"
)

// stormPods is how many pods TestStorm creates.
const stormPods = 500

// TestStorm creates hundreds of pods with exclusive CPUs and all CPU policies, for two small nodes:
// the virtual machine, and a simulated node without a kubelet ("hollow"). A pod is deleted as soon
// as it runs on the virtual machine, or is bound to the simulated node. So CPUs are reassigned all
// the time. The test watches all pods and checks that no CPU is assigned twice at any time. No node
// may reject a placement, and every pod must be bound. The controller has 8 proposers (concurrent
// searches for nodes). It runs on the host of the control plane, because the emulated machine is
// too slow.
func TestStorm(t *testing.T) {
	ctx := start(t, 15*time.Minute)
	t.Cleanup(func() { scaleControllers(context.Background(), t, 2) })
	scaleControllers(ctx, t, 0)
	controller := hostController(ctx, t, "--proposers=8")
	s := &storm{T: t, turn: map[types.UID]bool{}, ledger: hollowcluster.Ledger{Room: map[string]hollowcluster.Amounts{
		cluster.Node(): room(ctx, t, cluster.Node()),
	}}}
	began := time.Now()
	events, created := watchPods(ctx, t), make(chan bool)
	go func() { s.create(ctx); close(created) }()
	for s.gone < stormPods && !t.Failed() {
		select {
		case e := <-events:
			s.see(ctx, e)
		case <-created: // the simulated node is added now, while most of the pods still wait
			created = nil
			shape := hollowcluster.Shape{NUMA: 2, CPUs: 4}
			s.ledger.Room["hollow"] = hollowcluster.AmountsOf(shape.Named("hollow").Status.Allocatable)
			hollow(ctx, t, "hollow", shape)
			t.Cleanup(func() { must(t, s.clear(context.Background())) })
		case <-ctx.Done():
			t.Fatalf("%d of %d pods were bound, %d are gone", s.bound, stormPods, s.gone)
		}
	}
	t.Logf("%d pods bound in %v, %d of them ran", s.bound, time.Since(began).Round(time.Second), s.ran)
	for _, counter := range []string{"rechecks_passed", "rechecks_failed", "requeues", "unschedulable"} {
		n, err := controller.Metric(ctx, "numalet_scheduler_"+counter+"_total")
		must(t, err)
		t.Logf("%s: %g", counter, n)
	}
	checkLives(ctx, t)
}

// room returns the allocatable resources of a node.
func room(ctx context.Context, t *testing.T, node string) hollowcluster.Amounts {
	t.Helper()
	n, err := cluster.API.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	must(t, err)
	return hollowcluster.AmountsOf(n.Status.Allocatable)
}

// hostController runs a controller on the host of the control plane until the test ends, with the
// service account of deploy/controller.
func hostController(ctx context.Context, t *testing.T, args ...string) *hollowcluster.Controller {
	t.Helper()
	plane := &hollowcluster.Plane{Kubeconfig: *kubeconfig, Dir: t.TempDir()}
	controller, err := plane.StartController(ctx, "controller", *controllerBin, args...)
	must(t, err)
	t.Cleanup(func() { must(t, controller.Stop(time.Minute)) })
	return controller
}

// storm is the state of TestStorm.
type storm struct {
	*testing.T
	ledger           hollowcluster.Ledger
	turn             map[types.UID]bool // by UID: pods that have had their turn, which means that they ran or were bound to the simulated node
	bound, gone, ran int
}

// stormLabel selects the pods of TestStorm.
const stormLabel = "numalet-e2e=storm"

// hollow creates a simulated node without a kubelet, and deletes it when the test ends.
func hollow(ctx context.Context, t *testing.T, name string, shape hollowcluster.Shape) {
	t.Helper()
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.Cleanup(func() {
		stop()
		must(t, cluster.RemoveHollow(context.Background(), name))
	})
	must(t, cluster.Hollow(alive, name, shape))
}

// watchPods returns a channel with all changes of pods in the cluster, in order.
func watchPods(ctx context.Context, t *testing.T) <-chan apiwatch.Event {
	t.Helper()
	pods := cluster.API.CoreV1().Pods(metav1.NamespaceAll)
	list, err := pods.List(ctx, metav1.ListOptions{})
	must(t, err)
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return pods.Watch(ctx, o)
		},
	})
	must(t, err)
	return w.ResultChan()
}

// create creates the pods of TestStorm. Successive pods have the CPU policies spread, single and
// random in turn. They request 1 to 4 CPUs.
func (s *storm) create(ctx context.Context) {
	for i := range stormPods {
		policy := []string{v1alpha1.PolicySpread, v1alpha1.PolicySingle, v1alpha1.PolicyRandom}[i%3]
		pod := e2eutil.Pod(fmt.Sprintf("storm-%03d", i), policy, e2eutil.Container{Name: "c", CPU: fmt.Sprint(1 + i/3%4)})
		pod.Labels = map[string]string{"numalet-e2e": "storm"}
		if _, err := cluster.API.CoreV1().Pods(cluster.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			s.Errorf("create: %v", err)
			return
		}
	}
}

// see checks one change of a pod. It deletes the pod if the pod is bound to the simulated node, or
// runs on the virtual machine.
func (s *storm) see(ctx context.Context, e apiwatch.Event) {
	bound, err := s.ledger.See(e)
	if err != nil {
		s.Error(err)
		return
	}
	pod := e.Object.(*corev1.Pod)
	if pod.Spec.NodeName != "" && unschedulable(pod) {
		s.Errorf("pod %s is bound to %s, and said to be unschedulable", pod.Name, pod.Spec.NodeName)
	}
	if _, ours := pod.Labels["numalet-e2e"]; !ours {
		return
	}
	if bound {
		s.bound++
	}
	switch {
	case e.Type == apiwatch.Deleted:
		s.gone++
	case s.turn[pod.UID]: // the pod was counted before, so it does not matter how it ends
	case pod.Status.Phase == corev1.PodFailed:
		s.Errorf("pod %s failed on %s: %s %s", pod.Name, pod.Spec.NodeName, pod.Status.Reason, pod.Status.Message)
	case pod.Spec.NodeName == "hollow":
		s.end(ctx, pod, 0)
	case e2eutil.Running(pod):
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

// clear deletes the pods of TestStorm that still exist after a failure.
func (s *storm) clear(ctx context.Context) error {
	return cluster.API.CoreV1().Pods(cluster.Namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{LabelSelector: stormLabel})
}

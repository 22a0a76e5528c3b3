package controller

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	fakesource "k8s.io/client-go/tools/cache/testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/sched"
)

const (
	crowdNodes = 200 // number of nodes in TestWaiting; a fifth of them have the label "gang" that the pods made by the function `lone` require
	fresh      = 200 // TestWaiting creates this number of fitting pods together, and later the same number one by one
	// mostRetries is the largest number of failed scheduling attempts that TestWaiting accepts
	// while pods are created one by one. The test also accepts up to this number of explanations of
	// why a pod fits no node. Some failed attempts are necessary, and so are their explanations:
	// when a pod ends on a node that the waiting gang could use, the gang is tried again.
	mostRetries = 20
)

// TestWaiting checks that pods that cannot be placed do not slow down other pods, however many
// wait. A third of the waiting pods request too much, a third select a label that no node has, and
// a third require a neighbor that does not exist. A gang (pods that are placed all together or not
// at all) waits, too: each of its pods needs a node of its own, and the number of nodes with the
// required label is one less than the number of its pods. Behind these pods in the queue, the test
// creates pods that fit: first many of them at the same time, and then the same number one by one.
// After each pod that is created alone, a pod that was created earlier ends. The test counts
// scheduling attempts and explanations, on a simulated clock.
func TestWaiting(t *testing.T) {
	for _, waiting := range []int{300, 3000} {
		t.Run(fmt.Sprint(waiting), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newCrowd(t, crowdNodes)
				for i := range waiting {
					w.add(unplaceable(i))
				}
				for i := range crowdNodes/5 + 1 {
					w.add(lone(i, crowdNodes/5+1))
				}
				time.Sleep(time.Millisecond) // so that the pods that are added next have a later creation time
				for i := range fresh {
					w.add(ordinary(i))
				}
				defer w.run()()
				if time.Sleep(time.Second / 2); w.bound.Load() != fresh {
					t.Errorf("%d of %d pods behind those that wait were bound in half a second: something blocks them", w.bound.Load(), fresh)
				}
				time.Sleep(30 * time.Second)
				if told := w.told.Load(); told != int64(waiting+crowdNodes/5+1) {
					t.Errorf("%d pods that wait have an event that says why, want all", told)
				}
				vain, explained := w.controller.pipeline.Counters().Unschedulable, w.explained.Load()
				late := w.freshPods()
				vain, explained = w.controller.pipeline.Counters().Unschedulable-vain, w.explained.Load()-explained
				if vain > mostRetries || explained > mostRetries || late > 0 {
					t.Errorf("%d pods came and as many ended: %d attempts in vain and %d explanations, want at most %d; %d pods were not bound before the next came", fresh, vain, explained, mostRetries, late)
				}
			})
		})
	}
}

// crowd is a controller in a cluster whose nodes are nearly full, on a simulated clock
// (testing/synctest). The test passes nodes and pods to the controller directly, and not through
// informers. Its fake API server takes 2 ms for a Binding.
type crowd struct {
	testing.TB
	nodes                  int
	controller             *controller
	pods                   sync.Map // the pods by name
	bound, told, explained atomic.Int64
	end                    func()
}

// newCrowd returns a crowd with nodes and with pods on these nodes. The crowd counts the events
// that report failures to schedule a pod.
func newCrowd(t testing.TB, nodes int) *crowd {
	w := &crowd{TB: t, nodes: nodes}
	client := fake.NewClientset()
	client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		w.told.Add(1)
		return true, a.(clienttesting.CreateAction).GetObject(), nil
	})
	w.controller, w.end = unwatched(t, client, w.bind)
	w.controller.seen = w.newest
	w.connect()
	for i := range nodes {
		w.controller.mirror.SetNode(crowdNode(i))
		filler := labeled("fill", i, strconv.Itoa(59+i%5))
		filler.Spec.NodeName = crowdNode(i).Name
		w.controller.mirror.SetPod(filler)
	}
	return w
}

// unwatched returns a controller without its parts: the caller creates and connects them, as the
// method crowd.connect does. The controller's informers of custom resources watch empty sources. It
// uses the given client for all requests but Bindings. The caller must call the function `end` when
// the test is over.
func unwatched(t testing.TB, client kubernetes.Interface, bind func(context.Context, *corev1.Binding) error) (c *controller, end func()) {
	cfg, err := config.LoadController(config.Input{
		Args:      []string{"--leader-elect=false", "--queue-addr=", "--metrics-secure=false", "--health-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0"},
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	topologies, groups, quotas := fakesource.NewFakeControllerSource(), fakesource.NewFakeControllerSource(), fakesource.NewFakeControllerSource()
	c = unconnected(cfg, logr.Discard(), clients{
		watch: client, pods: client.CoreV1(), bind: client, report: client, lease: client, bindings: bind, events: func(context.Context, *eventsv1.Event) error { return nil },
		metadata: nobody(t), overstep: func(context.Context) error { return errors.New("denied by a ValidatingAdmissionPolicy") }, tenants: storedTenants(t),
		topologies: cache.NewSharedIndexInformer(topologies, &v1alpha1.NodeTopology{}, 0, cache.Indexers{}),
		groups:     cache.NewSharedIndexInformer(groups, &v1alpha1.GPUGroup{}, 0, cache.Indexers{}),
		quotas:     cache.NewSharedIndexInformer(quotas, &v1alpha1.Tenant{}, 0, cache.Indexers{}),
	})
	return c, func() { topologies.Shutdown(); groups.Shutdown(); quotas.Shutdown() }
}

// connect creates and connects the parts of the controller. It makes the crowd count how often
// the controller explains why a pod fits no node.
func (w *crowd) connect() {
	ctx, stop := context.WithCancel(context.Background())
	end := w.end
	w.end = func() { stop(); end(); time.Sleep(time.Minute) } // kube-scheduler's goroutines that record metrics check every second whether to end
	counted := false
	for _, part := range w.controller.parts() {
		if err := part(ctx); err != nil {
			w.Fatal(err)
		}
		if explain := w.controller.filters.explain; explain != nil && !counted {
			counted = true
			w.controller.filters.explain = func(pod *sched.Pod) string {
				w.explained.Add(1)
				return explain(pod)
			}
		}
	}
}

// run starts the controller, and returns a function that stops the controller.
func (w *crowd) run() (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.controller.runWith(ctx) }()
	<-w.controller.leads
	return func() {
		stop()
		if err := <-ended; err != nil {
			w.Errorf("run: %v", err)
		}
		w.end()
	}
}

// freshPods adds pods that fit, one by one, and for each of them ends a pod that was added
// earlier. It returns how many pods were not yet bound when the next pod was added.
func (w *crowd) freshPods() (late int64) {
	for i := range int64(fresh) {
		before := w.bound.Load()
		w.add(ordinary(fresh + int(i)))
		time.Sleep(20 * time.Millisecond)
		late += before + 1 - w.bound.Load()
		earlier, _ := w.pods.LoadAndDelete(fmt.Sprintf("pod-%05d", i))
		w.controller.mirror.RemovePod(earlier.(*corev1.Pod))
		time.Sleep(20 * time.Millisecond)
	}
	return late
}

func (w *crowd) add(pod *corev1.Pod) {
	w.pods.Store(pod.Name, pod)
	w.controller.mirror.SetPod(pod)
}

// newest returns the newest version of a pod, or nil if the pod is gone.
func (w *crowd) newest(_, name string) *corev1.Pod {
	if pod, ok := w.pods.Load(name); ok {
		return pod.(*corev1.Pod)
	}
	return nil
}

// bind applies a Binding, and passes the bound pod to the controller.
func (w *crowd) bind(_ context.Context, b *corev1.Binding) error {
	time.Sleep(2 * time.Millisecond)
	pending, _ := w.pods.Load(b.Name)
	pod := pending.(*corev1.Pod).DeepCopy()
	pod.Spec.NodeName = b.Target.Name
	w.add(pod)
	w.bound.Add(1)
	return nil
}

// crowdNode returns node number i, with 64 CPUs. Of the first 1,000 nodes, every fifth has the
// label that the pods of the gang (see the function `lone`) require.
func crowdNode(i int) *corev1.Node {
	list := corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"), "pods": resource.MustParse("250")}
	name := fmt.Sprintf("node-%03d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint(i % 3), "gang": strconv.FormatBool(i%5 == 0 && i < 1000)}},
		Status:     corev1.NodeStatus{Allocatable: list, Capacity: list},
	}
}

// labeled returns a pending pod that has a label with a value that no other pod has.
func labeled(kind string, i int, cpu string) *corev1.Pod {
	pod := pendingPod(fmt.Sprintf("%s-%05d", kind, i), cpu, "")
	pod.Labels = map[string]string{"name": pod.Name}
	pod.CreationTimestamp = metav1.Now()
	return pod
}

// unplaceable returns a pod that fits no node. The number i determines the reason: its
// requests, its node selector, or a missing neighbor.
func unplaceable(i int) *corev1.Pod {
	pod := labeled("waiting", i, "100m")
	switch i % 3 {
	case 0:
		pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("100")
	case 1:
		pod.Spec.NodeSelector = map[string]string{"disk": "none"}
	case 2:
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "never"}}, TopologyKey: corev1.LabelTopologyZone,
		}}}}
	}
	return pod
}

// lone returns pod number i of a gang of the given size, all of whose pods start together. Each pod
// of the gang requires a node without another pod of the gang.
func lone(i, size int) *corev1.Pod {
	pod := labeled("lone", i, "100m")
	pod.Labels[v1alpha1.LabelGang] = "too-large"
	pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(size)
	pod.Spec.NodeSelector = map[string]string{"gang": "true"}
	pod.Spec.Affinity = apartFrom(v1alpha1.LabelGang, "too-large")
	return pod
}

// ordinary returns a pod that fits. Every tenth of these pods has required anti-affinity.
func ordinary(i int) *corev1.Pod {
	pod := labeled("pod", i, "10m")
	if i%10 == 0 {
		pod.Labels["app"] = "apart"
		pod.Spec.Affinity = apartFrom("app", "apart")
	}
	return pod
}

func apartFrom(key, value string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}, TopologyKey: corev1.LabelHostname,
	}}}}
}

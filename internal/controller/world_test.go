package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	fakesource "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/internal/platform/config"
)

// world is a fake API server that handles Bindings, and a controller that uses this API server.
type world struct {
	*testing.T
	client     *fake.Clientset
	topologies *fakesource.FakeControllerSource
	tenants    client.Client
	groups     *fakesource.FakeControllerSource
	quotas     *fakesource.FakeControllerSource
	made       map[string]*v1alpha1.GPUGroup // the newest version of each GPUGroup that the test has made, by name
	controller *controller
	mu         sync.Mutex
	refuse     func(*corev1.Binding) error // returns an error if a Binding is to be refused; nil to refuse none
	api        *rest.Config                // of the API server that says who may read metrics; nil if everybody may
	permitted  []string                    // nodes whose GPUs all tenants may use
	watched    map[string]int              // number of watches, by resource; start waits for them: if an object were created after an informer's list and before its watch, the fake API server would not send it to the informer
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, client: fake.NewClientset(), topologies: fakesource.NewFakeControllerSource(), tenants: storedTenants(t), watched: map[string]int{}}
	w.groups, w.quotas, w.made = fakesource.NewFakeControllerSource(), fakesource.NewFakeControllerSource(), map[string]*v1alpha1.GPUGroup{}
	w.client.PrependReactor("create", "pods", w.bind)
	w.client.PrependReactor("create", "subjectaccessreviews", w.review) // added before the controller runs, because the client does not lock its list of reactors
	w.client.PrependWatchReactor("*", w.watch)
	return w
}

// watch handles a watch request of the controller: it starts the watch and counts it in w.watched.
func (w *world) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	began, err := w.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched[action.GetResource().Resource]++
	return true, began, err
}

func (w *world) watches(resource string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watched[resource]
}

// nobody returns a client whose list of pods is empty. mirror.Newest.CatchUp lists the bound pods,
// and waits until the controller has seen the newest of them. With an empty list, it returns at
// once.
func nobody(t testing.TB) metadata.Interface {
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return metadatafake.NewSimpleMetadataClient(scheme)
}

// storedTenants returns a client with an empty store of Tenants.
func storedTenants(t testing.TB) client.Client {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Tenant{}).Build()
}

// start runs the controller with additional flags until the test ends.
func (w *world) start(settings ...string) {
	w.Helper()
	cfg, err := config.LoadController(config.Input{
		Args:      append(settings, "--leader-elect=false", "--health-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0", "--metrics-secure="+strconv.FormatBool(w.api != nil), "--queue-addr="),
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		w.Fatal(err)
	}
	topologies := cache.NewSharedIndexInformer(w.topologies, &v1alpha1.NodeTopology{}, 0, cache.Indexers{})
	one := clients{
		watch: w.client, pods: w.client.CoreV1(), bind: w.client, report: w.client, lease: w.client, bindings: w.createBinding, events: w.createEvent,
		metadata: nobody(w.T), api: w.api, overstep: func(context.Context) error { return errors.New("denied by a ValidatingAdmissionPolicy") }, topologies: topologies, tenants: w.tenants,
		groups: cache.NewSharedIndexInformer(w.groups, &v1alpha1.GPUGroup{}, 0, cache.Indexers{}),
		quotas: cache.NewSharedIndexInformer(w.quotas, &v1alpha1.Tenant{}, 0, cache.Indexers{}), resources: w.statuses(),
	}
	w.controller, err = newController(w.Context(), cfg, logr.Discard(), one)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.controller.run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("run: %v", err)
		}
	})
	w.await("nodes, pods, and apart from them those that failed and those that succeeded are watched", func() bool { return w.watches("nodes") == 1 && w.watches("pods") == 3 })
}

// queueClient returns a client of the queue API with all permissions.
func (w *world) queueClient() queueapi.Client {
	source := w.controller.answersFrom()
	source.Allow = func(*http.Request, *authorizationv1.ResourceAttributes) error { return nil }
	server := httptest.NewServer(queueapi.New(source))
	w.Cleanup(server.Close)
	return queueapi.Client{Server: server.URL, HTTP: server.Client()}
}

func (w *world) createBinding(ctx context.Context, b *corev1.Binding) error {
	return w.client.CoreV1().Pods(b.Namespace).Bind(ctx, b, metav1.CreateOptions{})
}

func (w *world) createEvent(ctx context.Context, e *eventsv1.Event) error {
	_, err := w.client.EventsV1().Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	return err
}

// bind applies a Binding to its pod, as an API server does. It refuses the Binding if w.refuse
// returns an error.
func (w *world) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	binding, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	if !ok {
		return false, nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(binding); err != nil {
			return true, nil, err
		}
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	found, err := w.client.Tracker().Get(pods, "default", binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := found.(*corev1.Pod).DeepCopy()
	if pod.Spec.NodeName != "" {
		return true, nil, fmt.Errorf("pod %s is bound already", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, binding.Annotations)
	return true, nil, w.client.Tracker().Update(pods, pod, "default")
}

// node creates the Node and the NodeTopology that newNode returns.
func (w *world) node(name string, cpus int, more ...func(*corev1.Node, *v1alpha1.NodeTopology)) {
	w.Helper()
	node, t := newNode(name, cpus, more...)
	w.topologies.Add(t)
	if _, err := w.client.CoreV1().Nodes().Create(w.Context(), node, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// newNode returns a node with two NUMA nodes, and its NodeTopology. Each NUMA node has the given
// number of CPUs. The node also has CPU 0, which is reserved. The functions given as `more` may
// change both objects.
func newNode(name string, cpus int, more ...func(*corev1.Node, *v1alpha1.NodeTopology)) (*corev1.Node, *v1alpha1.NodeTopology) {
	list := corev1.ResourceList{"cpu": *resource.NewQuantity(int64(2*cpus+1), ""), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: list, Capacity: list}}
	topology := &v1alpha1.NodeTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	topology.Status.Machine.ReservedCPUs = "0"
	meta.SetStatusCondition(&topology.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue})
	for id := range 2 {
		n := v1alpha1.NUMANode{ID: int32(id), CPUs: fmt.Sprintf("%d-%d", id*cpus+1, (id+1)*cpus)}
		n.Capacity, n.Allocatable = int32(cpus), int32(cpus)
		n.Memory = resource.NewQuantity(32<<30, resource.BinarySI)
		topology.Status.NUMA = append(topology.Status.NUMA, n)
	}
	for _, add := range more {
		add(node, topology)
	}
	return node, topology
}

// pod creates a pending pod. The pod has exclusive CPUs if the parameter `policy` is not empty.
func (w *world) pod(name, cpu, policy string) {
	w.Helper()
	w.create(pendingPod(name, cpu, policy))
}

// owned creates a pending pod that a Job controls. The pod requests two exclusive CPUs, on any NUMA
// nodes.
func (w *world) owned(name, job string) {
	w.Helper()
	pod := pendingPod(name, "2", "random")
	pod.OwnerReferences = controlledBy(job)
	w.create(pod)
}

// controlledBy returns the owner reference that the pods of a Job have.
func controlledBy(job string) []metav1.OwnerReference {
	owner := &metav1.ObjectMeta{Name: job, UID: types.UID("uid-" + job)}
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
}

func (w *world) create(pod *corev1.Pod) {
	w.Helper()
	if _, err := w.client.CoreV1().Pods("default").Create(w.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// reject makes a pod fail. A node's agent makes a pod fail in the same way if the agent cannot
// honour the pod's placement.
func (w *world) reject(name string) {
	w.Helper()
	pods := w.client.CoreV1().Pods("default")
	pod, err := pods.Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	pod.Status.Phase = corev1.PodFailed
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonPlacementRejected,
	})
	if _, err := pods.UpdateStatus(w.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func pendingPod(name, cpu, policy string) *corev1.Pod {
	list := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Mi")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{SchedulerName: "numalet-scheduler", Containers: []corev1.Container{
			{Name: "main", Resources: corev1.ResourceRequirements{Limits: list, Requests: list}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if policy != "" {
		pod.Annotations[v1alpha1.AnnotationCPUPolicy] = policy
	}
	return pod
}

func (w *world) pods() []corev1.Pod {
	w.Helper()
	list, err := w.client.CoreV1().Pods("default").List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// await calls the function given as `holds` until it returns true. It fails the test if this takes
// more than 20 seconds.
func (w *world) await(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("waited in vain: %s; pending %v, counters %+v", what, w.controller.queue.Depth(), w.controller.pipeline.Counters())
		}
	}
}

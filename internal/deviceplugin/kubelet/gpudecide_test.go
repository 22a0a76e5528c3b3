package kubelet

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// apiServer is a fake of the API server and of the informer, with the pods of one node by name.
type apiServer struct {
	answers time.Duration // how long the API server takes to answer
	sync.Mutex
	cached, bound map[string]*corev1.Pod // those that the informer has, and those that the API server has
}

// newAPIServer returns an apiServer with pods that the informer has, too.
func newAPIServer(pods ...*corev1.Pod) *apiServer {
	a := &apiServer{cached: map[string]*corev1.Pod{}, bound: map[string]*corev1.Pod{}}
	for _, pod := range pods {
		a.bind(pod)
		a.put(pod)
	}
	return a
}

func (a *apiServer) bind(pod *corev1.Pod) {
	a.Lock()
	defer a.Unlock()
	a.bound[pod.Name] = pod
}

func (a *apiServer) put(pod *corev1.Pod) {
	a.Lock()
	defer a.Unlock()
	a.cached[pod.Name] = pod
}

// end removes a pod from the API server only.
func (a *apiServer) end(name string) {
	a.Lock()
	defer a.Unlock()
	delete(a.bound, name)
}

func (a *apiServer) drop(name string) {
	a.Lock()
	defer a.Unlock()
	delete(a.cached, name)
}

func (a *apiServer) All() []*corev1.Pod {
	a.Lock()
	defer a.Unlock()
	return slices.Collect(maps.Values(a.cached))
}

func (a *apiServer) Read(ctx context.Context) ([]*corev1.Pod, error) {
	select {
	case <-time.After(a.answers):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.Lock()
	defer a.Unlock()
	return slices.Collect(maps.Values(a.bound)), nil
}

// decidedPod returns a pod with these containers. The text "main 2 a,b" stands for a container
// named main that requests two GPUs, and for which the controller chose the GPUs a and b. The
// text "init:main 1" stands for an init container named main that requests one GPU, and for which
// the controller chose no GPUs. The last digit of the pod's name is the pod's age in seconds.
func decidedPod(name string, containers ...string) *corev1.Pod {
	age, _ := strconv.Atoi(name[len(name)-1:])
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(int64(-age), 0), Annotations: map[string]string{},
	}}
	placed := map[string]v1alpha1.ContainerPlacement{}
	for _, text := range containers {
		words := strings.Fields(text)
		kind, container, isInit := strings.Cut(words[0], ":")
		if !isInit {
			container = kind
		}
		c := corev1.Container{Name: container, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{whole: resource.MustParse(words[1])}}}
		if isInit {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
		if len(words) > 2 {
			placed[container] = v1alpha1.ContainerPlacement{GPUs: strings.Split(words[2], ",")}
		}
	}
	if len(placed) > 0 {
		pod.Annotations[v1alpha1.AnnotationPlacement], _ = v1alpha1.FormatPlacement(placed)
	}
	return pod
}

func leavingPod(name string, containers ...string) *corev1.Pod {
	pod := decidedPod(name, containers...)
	pod.DeletionTimestamp = &metav1.Time{}
	return pod
}

// lists returns a list of pods as the kubelet's pod resources API does. The line "p1" stands for a
// pod named p1 whose containers have no GPUs. The line "p1 main" stands for a pod named p1 whose
// container main has a GPU.
func lists(lines ...string) []*podresources.PodResources {
	var all []*podresources.PodResources
	for _, line := range lines {
		words := strings.Fields(line)
		p := &podresources.PodResources{Namespace: "ns", Name: words[0]}
		for _, container := range words[1:] {
			p.Containers = append(p.Containers, &podresources.ContainerResources{
				Name: container, Devices: []*podresources.ContainerDevices{{ResourceName: whole, DeviceIds: []string{"held"}}},
			})
		}
		all = append(all, p)
	}
	return all
}

func newDecider(api *apiServer, list func() []*podresources.PodResources) *Decider {
	return &Decider{
		Pods: api, Log: logr.Discard(),
		List: func(context.Context) ([]*podresources.PodResources, error) { return list(), nil },
	}
}

func TestDecide(t *testing.T) {
	ended := decidedPod("ended9", "main 1 c")
	ended.Status.Phase = corev1.PodFailed
	leaving := leavingPod("leaving9", "main 1 c")
	for name, tc := range map[string]struct {
		pods            []*corev1.Pod
		listed          []string
		available, must string
		count           int
		want, avoid     string
	}{
		"the only one": {
			[]*corev1.Pod{decidedPod("p1", "main 2 c,a")}, []string{"p1"}, "a b c", "", 2, "c a", "",
		},
		"the one that the kubelet lists": {
			[]*corev1.Pod{decidedPod("p2", "main 1 a"), decidedPod("q1", "main 1 b")}, []string{"q1"}, "a b c", "", 1, "b", "",
		},
		"the one that has none yet": {
			[]*corev1.Pod{decidedPod("p2", "main 1 a"), decidedPod("q1", "main 1 b")}, []string{"p2 main", "q1"}, "b c", "", 1, "b", "",
		},
		"its second container": {
			[]*corev1.Pod{decidedPod("p1", "main 1 a", "side 1 b")}, []string{"p1 main"}, "b c", "", 1, "b", "",
		},
		"its container that wants as many": {
			[]*corev1.Pod{decidedPod("p1", "main 1 a", "side 2 b,c")}, []string{"p1"}, "a b c", "", 2, "b c", "",
		},
		"not one that ended, or is deleted": {
			[]*corev1.Pod{ended, leaving, decidedPod("p1", "main 1 a")}, []string{"ended9", "leaving9", "p1"}, "a b c", "", 1, "a", "",
		},
		"an init container that holds its GPU seems to have none": {
			[]*corev1.Pod{decidedPod("old9", "init:warm 1 a"), decidedPod("older9", "init:warm 1 b", "main 0"), decidedPod("p1", "main 1 c")},
			[]string{"old9", "older9", "p1"}, "c d", "", 1, "c", "",
		},
		"an app container after an init container": {
			[]*corev1.Pod{decidedPod("p1", "init:warm 1 a", "main 2 a,b")}, []string{"p1"}, "a b c", "a", 2, "a b", "",
		},
		"an app container that is given another's by chance": {
			[]*corev1.Pod{decidedPod("p1", "init:warm 2 a,b", "main 1 a", "side 3 b,c,d")}, []string{"p1 main"}, "a c d e", "a", 3, "a c d", "",
		},
		"nothing was decided": {
			[]*corev1.Pod{decidedPod("p1", "main 1"), decidedPod("q2", "main 1 b")}, []string{"p1"}, "a b", "", 1, "", "b",
		},
		"what was decided is not to be had": {
			[]*corev1.Pod{decidedPod("p1", "main 2 a,b"), decidedPod("q2", "main 1 c")}, []string{"p1"}, "b c d", "", 2, "", "a b c",
		},
		"a GPU that the kubelet lists and offers nevertheless": {
			[]*corev1.Pod{decidedPod("p1", "main 1"), decidedPod("q2", "main 1")}, []string{"p1", "q2 main"}, "held b", "", 1, "", "held by held",
		},
		"a GPU that another pod was to have, and that the kubelet lists and offers nevertheless": {
			[]*corev1.Pod{decidedPod("old9", "init:warm 1 a", "main 2 a,held"), decidedPod("q1", "main 1")}, []string{"old9 main", "q1"}, "held b", "", 1, "", "a held held by held",
		},
		"no pod is listed": {
			[]*corev1.Pod{decidedPod("p1", "main 1 a")}, nil, "a b", "", 1, "", "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDecider(newAPIServer(tc.pods...), func() []*podresources.PodResources { return lists(tc.listed...) })
			got := d.decide(t.Context(), request{whole, strings.Fields(tc.available), strings.Fields(tc.must), tc.count})
			if diff := cmp.Diff(tc.want, strings.Join(got.ids, " ")); diff != "" {
				t.Errorf("decided (-want +got):\n%s", diff)
			}
			avoid := slices.Sorted(maps.Keys(got.others))
			for id := range got.held {
				avoid = append(avoid, "held by "+id)
			}
			if diff := cmp.Diff(tc.avoid, strings.Join(avoid, " ")); diff != "" {
				t.Errorf("avoid (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecideUnheardOf checks that the method `decide` reads the pods from the API server if the
// kubelet lists a pod that the informer does not have, and that it waits for the answer, but not
// longer than decideTimeout. If the informer has an older pod of the same name, which is being
// deleted, the method must still find the new pod.
func TestDecideUnheardOf(t *testing.T) {
	p1 := decidedPod("p1", "main 1 a", "side 1 b")
	for name, tc := range map[string]struct {
		cached  *corev1.Pod   // p1 in the informer
		bound   *corev1.Pod   // p1 in the API server
		listed  string        // p1 in the kubelet
		answers time.Duration // how long the API server takes
		takes   time.Duration
		want    []string
	}{
		"new":                         {nil, p1, "p1", 0, 0, []string{"a"}},
		"new, second container":       {nil, p1, "p1 main", 0, 0, []string{"b"}},
		"busy API server":             {nil, p1, "p1", 3 * time.Second, 3 * time.Second, []string{"a"}},
		"no answer":                   {nil, p1, "p1", time.Hour, decideTimeout, nil},
		"new, same name":              {leavingPod("p1", "main 1 c"), p1, "p1", time.Second, time.Second, []string{"a"}},
		"being deleted":               {leavingPod("p1", "main 1 c"), leavingPod("p1", "main 1 c"), "p1", time.Second, time.Second, nil},
		"same name, second container": {leavingPod("p1", "main 1 c"), p1, "p1 main", time.Second, time.Second, []string{"b"}},
		"only the kubelet":            {nil, nil, "p1", time.Second, time.Second, nil},
		"known":                       {p1, nil, "p1", time.Hour, 0, []string{"a"}},
		"known, not decided":          {decidedPod("p1", "main 1"), nil, "p1", time.Hour, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newAPIServer(decidedPod("q2", "main 1 d"))
				if api.answers = tc.answers; tc.cached != nil {
					api.put(tc.cached)
				}
				if tc.bound != nil {
					api.bind(tc.bound)
				}
				d := newDecider(api, func() []*podresources.PodResources { return lists("q2 main", tc.listed) })
				start := time.Now()
				got := d.decide(t.Context(), request{whole, []string{"a", "b", "c"}, nil, 1})
				if diff := cmp.Diff(tc.want, got.ids); diff != "" || time.Since(start) != tc.takes {
					t.Errorf("after %s (-want +got):\n%s", time.Since(start), diff)
				}
			})
		})
	}
}

// admission simulates a kubelet with four GPUs, and a controller that assigns GPUs. The controller
// and the kubelet each have their own record of the GPUs in use. As in a cluster, the informer of
// the device plugin may deliver a pod only after the kubelet has begun to admit it.
type admission struct {
	t      *testing.T
	api    *apiServer
	random *rand.Rand
	queue  chan *corev1.Pod

	mu     sync.Mutex
	listed map[string]string // arguments of the function `lists`, by the name of the pod
	used   map[string]bool   // GPUs in use, in the kubelet's view
	free   []string          // free GPUs, in the controller's view
}

// TestDecideRace checks that each pod gets the GPUs that the controller chose for it, even if the
// kubelet admits pods in another order than the informer delivers them. 300 pods of one or two GPUs
// start and end. Each starts as soon as enough of the four GPUs are free.
func TestDecideRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &admission{
			t: t, api: newAPIServer(), random: rand.New(rand.NewPCG(1, 2)), queue: make(chan *corev1.Pod, 300),
			listed: map[string]string{}, used: map[string]bool{}, free: []string{"a", "b", "c", "d"},
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.admitAll(ctx)
		for i := range 300 {
			a.place(i)
		}
		time.Sleep(3 * time.Minute)
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.free) != 4 {
			t.Errorf("free at the end: %v", a.free)
		}
	})
}

// soon calls the function `do` (a parameter) after a random time of less than a minute.
func (a *admission) soon(do func()) {
	a.mu.Lock()
	after := time.Duration(a.random.IntN(60)) * time.Second
	a.mu.Unlock()
	time.AfterFunc(after, do)
}

// place waits until enough GPUs are free in the controller's view, and binds pod number i with
// GPUs that the controller chooses.
func (a *admission) place(i int) {
	for count := 1 + i%2; ; time.Sleep(10 * time.Millisecond) {
		a.mu.Lock()
		if len(a.free) < count {
			a.mu.Unlock()
			continue
		}
		a.random.Shuffle(len(a.free), func(i, j int) { a.free[i], a.free[j] = a.free[j], a.free[i] })
		gpus := slices.Clone(a.free[:count])
		a.free = a.free[count:]
		a.mu.Unlock()
		pod := decidedPod(fmt.Sprint("p", i), fmt.Sprintf("main %d %s", count, strings.Join(gpus, ",")))
		a.api.bind(pod)
		a.soon(func() { a.api.put(pod) })
		a.soon(func() { a.queue <- pod })
		return
	}
}

// admitAll acts as the kubelet, which admits one pod after another.
func (a *admission) admitAll(ctx context.Context) {
	d := newDecider(a.api, func() []*podresources.PodResources {
		a.mu.Lock()
		defer a.mu.Unlock()
		var lines []string
		for _, line := range a.listed {
			lines = append(lines, line)
		}
		return lists(lines...)
	})
	for {
		select {
		case pod := <-a.queue:
			a.admit(d, pod)
		case <-ctx.Done():
			return
		}
	}
}

func (a *admission) admit(d *Decider, pod *corev1.Pod) {
	a.mu.Lock()
	a.listed[pod.Name] = pod.Name
	var available []string
	for _, id := range []string{"a", "b", "c", "d"} {
		if !a.used[id] {
			available = append(available, id)
		}
	}
	a.mu.Unlock()
	want := decidedOn(pod, "main")
	got := d.decide(a.t.Context(), request{whole, available, nil, len(want)})
	if diff := cmp.Diff(want, got.ids); diff != "" {
		a.t.Errorf("%s of available %v (-want +got):\n%s", pod.Name, available, diff)
	}
	a.mu.Lock()
	a.listed[pod.Name] = pod.Name + " main"
	for _, id := range want {
		a.used[id] = true
	}
	a.mu.Unlock()
	a.soon(func() { a.end(pod, want) })
}

// end ends a pod. The kubelet learns at once that the pod has ended. The device plugin learns it
// later.
func (a *admission) end(pod *corev1.Pod, gpus []string) {
	a.mu.Lock()
	delete(a.listed, pod.Name)
	for _, id := range gpus {
		delete(a.used, id)
	}
	a.free = append(a.free, gpus...)
	a.mu.Unlock()
	a.api.end(pod.Name)
	a.soon(func() { a.api.drop(pod.Name) })
}

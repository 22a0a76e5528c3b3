package direct

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/pkg/workload"
)

// requestingPod returns a pod with one container, which requests two CPUs. The caller can make the
// CPUs exclusive, with annotations or with limits that are added to the pod. The pod's status has
// the given container ID, unless this ID is empty.
func requestingPod(annotations map[string]string, limits corev1.ResourceList, id string) *corev1.Pod {
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	for name, quantity := range limits {
		all[name] = quantity
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: all}}}},
	}
	if id != "" {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + id}}
	}
	return pod
}

func TestTranslate(t *testing.T) {
	group := cgroup.PodCgroup{Target: "/kubepods/podu", UID: "u", Containers: []cgroup.ContainerCgroup{
		{Target: "/kubepods/podu/pause", ID: "pause"}, {Target: "/kubepods/podu/c1", ID: "c1"},
	}}
	policy := map[string]string{v1alpha1.AnnotationCPUPolicy: "single"}
	// whole returns the sandbox with which translate represents a whole pod. The parameter
	// `target` is the cgroup to which package node must write a cpuset, or "" if there is none.
	whole := func(id, target string, pod *corev1.Pod) workload.Sandbox {
		s := workload.Sandbox{ID: id, Pod: workload.Pod{UID: "u"}, PodCgroup: "/kubepods/podu", Cgroup: target}
		if pod != nil {
			s.Pod.Namespace, s.Pod.Name, s.Annotations = "ns", "pod", pod.Annotations
		}
		return s
	}
	plain, early, named := requestingPod(nil, nil, "c1"), requestingPod(policy, nil, ""), requestingPod(policy, nil, "c1")
	explicit := requestingPod(nil, corev1.ResourceList{"numalet.dev/numa1-cpu": resource.MustParse("2")}, "c1")
	bad := requestingPod(map[string]string{v1alpha1.AnnotationCPUPolicy: "near"}, nil, "c1")
	for name, tc := range map[string]struct {
		pod        *corev1.Pod
		sandboxes  []workload.Sandbox
		containers []workload.Container
	}{
		"asks for nothing": {
			pod:       plain,
			sandboxes: []workload.Sandbox{whole("u", "/kubepods/podu", plain)},
		},
		"unknown: its containers may be exclusive, so nothing is written": {
			sandboxes: []workload.Sandbox{whole("u", "", nil)},
		},
		"asks, not named yet": {
			pod:       early,
			sandboxes: []workload.Sandbox{whole("u", "", early), whole("pause", "/kubepods/podu/pause", early), whole("c1", "/kubepods/podu/c1", early)},
		},
		"asks, named": {
			pod:        named,
			sandboxes:  []workload.Sandbox{whole("u", "", named), whole("pause", "/kubepods/podu/pause", named)},
			containers: []workload.Container{{ID: "c1", Name: "main", Cgroup: "/kubepods/podu/c1", Sandbox: whole("u", "", named), Annotations: map[string]string{}}},
		},
		"asks explicitly": {
			pod:       explicit,
			sandboxes: []workload.Sandbox{whole("u", "", explicit), whole("pause", "/kubepods/podu/pause", explicit)},
			containers: []workload.Container{{ID: "c1", Name: "main", Cgroup: "/kubepods/podu/c1", Sandbox: whole("u", "", explicit),
				Annotations: map[string]string{v1alpha1.AllocatedAnnotation(1): "numa1-cpu,numa1-cpu"}}},
		},
		"asks badly": {
			pod:        bad,
			sandboxes:  []workload.Sandbox{whole("u", "", bad), whole("pause", "/kubepods/podu/pause", bad)},
			containers: []workload.Container{{ID: "c1", Name: "main", Cgroup: "/kubepods/podu/c1", Sandbox: whole("u", "", bad)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sandboxes, containers := translate(group, tc.pod)
			if diff := cmp.Diff(tc.sandboxes, sandboxes); diff != "" {
				t.Errorf("sandboxes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.containers, containers); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

// The type `lists` is a fake Node. It is a channel to which each call of Synchronize sends its list
// of sandboxes.
type lists chan []workload.Sandbox

func (l lists) Synchronize(_ context.Context, sandboxes []workload.Sandbox, _ []workload.Container) {
	l <- sandboxes
}

// pods is a fake of the pod informer's cache.
type pods struct {
	sync.Mutex
	byUID map[string]*corev1.Pod
}

func (p *pods) Pod(known workload.Pod) (*corev1.Pod, bool) {
	p.Lock()
	defer p.Unlock()
	pod, ok := p.byUID[known.UID]
	return pod, ok
}

func (p *pods) Mirrors(string) []*corev1.Pod { return nil }

func (p *pods) set(uid string, pod *corev1.Pod) {
	p.Lock()
	defer p.Unlock()
	p.byUID[uid] = pod
	if pod == nil {
		delete(p.byUID, uid)
	}
}

// TestRunNotices creates, changes and removes a pod in a tree of plain directories, which stand for
// cgroups. It checks that the watcher notices each of these changes at once, without waiting for
// the next Resync.
func TestRunNotices(t *testing.T) {
	root, cgroups := emptyTree(t)
	pod := filepath.Join(root, "kubepods/podu")
	received, api := make(lists), &pods{byUID: map[string]*corev1.Pod{}}
	w := New(Options{Cgroups: cgroups, Pods: api, Node: received, Resync: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	if w.Ready() == nil {
		t.Error("ready before the first synchronization")
	}
	received.await(t, 0)
	mkdir(t, pod)
	received.await(t, 1)
	api.set("u", requestingPod(map[string]string{v1alpha1.AnnotationCPUPolicy: "single"}, nil, ""))
	mkdir(t, filepath.Join(pod, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"))
	received.await(t, 2)
	api.set("u", requestingPod(nil, nil, ""))
	w.Notify()
	received.await(t, 1) // only the sandbox for the cgroup of the whole pod, because the pod no longer requests exclusive CPUs
	api.set("u", nil)
	w.Notify()
	received.await(t, 1) // the watcher remembers a deleted pod while its cgroup exists
	if err := os.RemoveAll(pod); err != nil {
		t.Fatal(err)
	}
	received.await(t, 0)
	cancel()
	if err := received.drainUntil(done); err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := w.Ready(); err != nil {
		t.Errorf("after synchronizations: %v", err)
	}
}

// emptyTree makes a tree of plain directories, which stand for the kubelet's cgroups on a node
// without pods. It returns the root of the tree, and a Cgroups that uses the tree.
func emptyTree(t *testing.T) (string, *cgroup.Cgroups) {
	t.Helper()
	root := t.TempDir()
	mkdir(t, filepath.Join(root, "kubepods/burstable"))
	if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cgroups, err := cgroup.New(cgroup.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return root, cgroups
}

// slowLister creates a pod's cgroup immediately after the first call of Dirs has listed the
// directories.
type slowLister struct {
	Cgroups
	create func()
}

func (s *slowLister) Dirs() ([]string, error) {
	dirs, err := s.Cgroups.Dirs()
	if s.create != nil {
		s.create()
		s.create = nil
	}
	return dirs, err
}

// TestPodDuringTheFirstListing checks a pod whose cgroup is created while the watcher starts: after
// the watcher has listed the cgroups of pods, but before it watches the directory in which they are
// created. The watcher must notice the containers of this pod at once, too.
func TestPodDuringTheFirstListing(t *testing.T) {
	root, cgroups := emptyTree(t)
	pod := filepath.Join(root, "kubepods/podu")
	api := &pods{byUID: map[string]*corev1.Pod{"u": requestingPod(map[string]string{v1alpha1.AnnotationCPUPolicy: "single"}, nil, "")}}
	received := make(lists)
	w := New(Options{Cgroups: &slowLister{cgroups, func() { mkdir(t, pod) }}, Pods: api, Node: received, Resync: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	received.await(t, 1) // the pod's own cgroup
	mkdir(t, filepath.Join(pod, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"))
	received.await(t, 2) // the pod's own cgroup, and its container
	cancel()
	if err := received.drainUntil(done); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// await waits for a call of Synchronize with n sandboxes.
func (l lists) await(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case got := <-l:
			if len(got) == n {
				return
			}
		case <-deadline:
			t.Fatalf("no list of %d sandboxes came", n)
		}
	}
}

func (l lists) drainUntil(done <-chan error) error {
	for {
		select {
		case <-l:
		case err := <-done:
			return err
		}
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestStaticPod checks a static pod for which several pods claim to be its mirror pod. The watcher
// must choose the pod whose status lists a container of the static pod's cgroup.
func TestStaticPod(t *testing.T) {
	mirror := func(name, container string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Name = name
		if container != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + container}}
		}
		return p
	}
	group := cgroup.PodCgroup{UID: "hash", Containers: []cgroup.ContainerCgroup{{ID: "pause"}, {ID: "c1"}}}
	for name, tc := range map[string]struct {
		pods mirrors
		want string
	}{
		"no mirror pod":        {nil, ""},
		"its mirror pod":       {mirrors{mirror("static", "c1")}, "static"},
		"a stranger":           {mirrors{mirror("stranger", "c2")}, ""},
		"one without a status": {mirrors{mirror("stranger", "")}, ""},
		"beside strangers":     {mirrors{mirror("stranger", ""), mirror("static", "c1"), mirror("stranger-too", "c2")}, "static"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if pod := (&Watcher{o: Options{Pods: tc.pods}}).pod(group); pod != nil {
				got = pod.Name
			}
			if got != tc.want {
				t.Errorf("pod %q, want %q", got, tc.want)
			}
		})
	}
}

// mirrors are pods that claim to be the mirror pod of a static pod.
type mirrors []*corev1.Pod

func (mirrors) Pod(workload.Pod) (*corev1.Pod, bool) { return nil, false }
func (m mirrors) Mirrors(string) []*corev1.Pod       { return m }

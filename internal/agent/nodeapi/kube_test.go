package nodeapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/runtest"
	"github.com/numalet/numalet/pkg/workload"
)

const node = "node-1"

func pod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func mirror(name, hash string) *corev1.Pod {
	p := pod(name, corev1.PodRunning)
	p.Annotations = map[string]string{v1alpha1.AnnotationConfigHash: hash, v1alpha1.AnnotationConfigMirror: hash}
	return p
}

// running starts a cache of pods with a fake API server, and waits until the cache has all pods.
func running(t *testing.T, client *fake.Clientset, h Handlers) *Pods {
	t.Helper()
	pods, err := NewPods(client, node, h)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Run(t, pods)
	if err := pods.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pods
}

func TestPodByUID(t *testing.T) {
	pods := running(t, fake.NewClientset(
		pod("a", corev1.PodRunning), mirror("static", "hash"),
		mirror("forged", "uid-a"), mirror("forged-too", "uid-a"), mirror("stranger", "hash"), mirror("stranger-too", "hash"), mirror("claims", "unmirrored")), Handlers{})
	for _, known := range []workload.Pod{ref("a", "uid-a"), ref("static", "hash"), ref("forged", "uid-forged")} {
		for range 100 { // repeated, because the index returns pods in random order
			got, ok := pods.Pod(known)
			if !ok || got.Name != known.Name {
				t.Fatalf("Pod(%v) = %v, %v", known, got, ok)
			}
			if got.ManagedFields != nil {
				t.Fatalf("Pod(%v) keeps managed fields", known)
			}
		}
	}
	for _, known := range []workload.Pod{ref("b", "uid-b"), ref("own", "unmirrored"), {UID: "hash"}, {}} {
		if got, ok := pods.Pod(known); ok {
			t.Errorf("Pod(%v) found %s", known, got.Name)
		}
	}
	if n := len(pods.Mirrors("hash")); n != 3 {
		t.Errorf("%d pods say that they are the mirror pod, want 3", n)
	}
	if n := len(pods.All()); n != 7 || !pods.HasSynced() {
		t.Errorf("All has %d pods, HasSynced %v; want 7, true", n, pods.HasSynced())
	}
}

func ref(name, uid string) workload.Pod {
	return workload.Pod{Namespace: "default", Name: name, UID: uid}
}

func TestRef(t *testing.T) {
	pods := running(t, fake.NewClientset(pod("a", corev1.PodRunning), mirror("static", "hash"), mirror("forged", "unmirrored")), Handlers{})
	for name, tc := range map[string]struct {
		known PodRef
		want  types.UID
	}{
		"a pod":                      {PodRef{"default", "a", "uid-a"}, "uid-a"},
		"a static pod":               {PodRef{"default", "static", "hash"}, "uid-static"},
		"one without mirror":         {PodRef{"default", "early", "early-hash"}, "early-hash"},
		"one that another calls its": {PodRef{"default", "own", "unmirrored"}, "unmirrored"},
	} {
		t.Run(name, func(t *testing.T) {
			want := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: tc.known.Name, UID: tc.want}
			if diff := cmp.Diff(want, pods.ObjectRef(tc.known)); diff != "" {
				t.Errorf("ref (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyThePodsOfTheNode(t *testing.T) {
	client := fake.NewClientset()
	running(t, client, Handlers{})
	var got []string
	for _, action := range client.Actions() {
		if list, ok := action.(clienttesting.ListAction); ok {
			got = append(got, list.GetListRestrictions().Fields.String())
		}
		if watch, ok := action.(clienttesting.WatchAction); ok {
			got = append(got, watch.GetWatchRestrictions().Fields.String())
		}
	}
	if len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return s != "spec.nodeName="+node }) {
		t.Errorf("asks for pods with %q, want only spec.nodeName=%s", got, node)
	}
}

func TestWaitWakesOnArrival(t *testing.T) {
	client := fake.NewClientset()
	pods := running(t, client, Handlers{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	found := make(chan bool)
	go func() {
		got, ok := pods.Wait(ctx, ref("late", "uid-late"))
		found <- ok && got.Name == "late"
	}()
	create(t, client, pod("other", corev1.PodPending))
	create(t, client, pod("late", corev1.PodPending))
	if !<-found {
		t.Error("Wait did not find the pod that arrived")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	pods := running(t, fake.NewClientset(), Handlers{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, ok := pods.Wait(ctx, ref("never", "uid-never")); ok {
		t.Error("Wait found a pod that never came")
	}
}

func TestHandlers(t *testing.T) {
	type call struct{ what, pod string }
	calls := make(chan call, 10)
	client := fake.NewClientset(pod("done", corev1.PodSucceeded))
	running(t, client, Handlers{
		Changed: func(p *corev1.Pod) { calls <- call{"changed", p.Name} },
		Ended:   func(p *corev1.Pod) { calls <- call{"ended", p.Name} },
	})
	failed := pod("a", corev1.PodRunning)
	create(t, client, failed)
	failed = failed.DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	api := client.CoreV1().Pods("default")
	if _, err := api.UpdateStatus(t.Context(), failed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []call{{"ended", "done"}, {"changed", "a"}, {"ended", "a"}, {"ended", "a"}}
	for _, w := range want {
		if diff := cmp.Diff(w, <-calls, cmp.AllowUnexported(call{})); diff != "" {
			t.Fatalf("call (-want +got):\n%s", diff)
		}
	}
}

func create(t *testing.T, client *fake.Clientset, p *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPanicOfOnePod checks that a panic in a handler for one pod is reported, and that the
// handlers are still called for all other pods.
func TestPanicOfOnePod(t *testing.T) {
	var reports, handled []string
	h := Handlers{
		Changed: func(pod *corev1.Pod) {
			if pod.Name == "bad" {
				panic("no such pod")
			}
			handled = append(handled, pod.Name)
		},
		Panicked: func(object string, cause any) { reports = append(reports, fmt.Sprint(object, ": ", cause)) },
	}
	p, err := NewPods(fake.NewClientset(), "n1", h)
	if err != nil {
		t.Fatal(err)
	}
	handler := p.handler(h)
	for _, name := range []string{"bad", "good"} {
		handler.OnAdd(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, true)
	}
	if diff := cmp.Diff([]string{"pod default/bad: no such pod"}, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"good"}, handled); diff != "" {
		t.Errorf("handled pods (-want +got):\n%s", diff)
	}
}

// TestRead checks that the method Read asks the API server for the pods of the node, even if the
// cache has none.
func TestRead(t *testing.T) {
	a := pod("a", corev1.PodPending)
	client := fake.NewClientset(a)
	var asked []string
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if asked = append(asked, action.(clienttesting.ListAction).GetListRestrictions().Fields.String()); len(asked) > 1 {
			return true, nil, errors.New("down")
		}
		return false, nil, nil
	})
	pods, err := NewPods(client, node, Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := pods.Read(t.Context())
	if diff := cmp.Diff([]*corev1.Pod{a}, got); err != nil || diff != "" {
		t.Errorf("Read: %v (-want +got):\n%s", err, diff)
	}
	if _, err := pods.Read(t.Context()); err == nil || err.Error() != "list the pods of this node from the API server: down" {
		t.Errorf("Read without an API server: %v", err)
	}
	if diff := cmp.Diff([]string{"spec.nodeName=" + node, "spec.nodeName=" + node}, asked); diff != "" {
		t.Errorf("field selectors (-want +got):\n%s", diff)
	}
}

func TestEventsCountEquals(t *testing.T) {
	client := fake.NewClientset()
	events := NewEvents(t.Context(), client, node)
	defer events.Close()
	on := pod("a", corev1.PodPending)
	on.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
	for range 3 {
		events.Warn(ContainerRef(on, "prepare"), "NumaletRefused", "no room")
	}
	var got corev1.Event
	for got.Count < 3 {
		list, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) > 1 {
			t.Fatalf("events: %d, %v; want one", len(list.Items), err)
		}
		if len(list.Items) == 1 {
			got = list.Items[0]
		}
		time.Sleep(time.Millisecond)
	}
	want := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "a", UID: "uid-a", FieldPath: "spec.initContainers{prepare}"}
	if diff := cmp.Diff(want, got.InvolvedObject); diff != "" {
		t.Errorf("on (-want +got):\n%s", diff)
	}
	if got.Type != corev1.EventTypeWarning || got.Source.Component != Component || got.Message != "no room" {
		t.Errorf("event = %s %s %q", got.Type, got.Source, got.Message)
	}
}

func TestMarkNode(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"zone": "a"}}})
	labels := func() map[string]string {
		n, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return n.Labels
	}
	if err := MarkNode(t.Context(), client, node); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"zone": "a", v1alpha1.LabelExclusiveCPUs: "true"}, labels()); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	for range 2 {
		if err := UnmarkNode(t.Context(), client, node); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"zone": "a"}, labels()); diff != "" {
		t.Errorf("unmarked (-want +got):\n%s", diff)
	}
	if err := MarkNode(t.Context(), client, "absent"); err == nil {
		t.Error("MarkNode of an absent node succeeded")
	}
}

func TestNewClientSaysWhatToDo(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := NewClient(""); err == nil {
		t.Error("NewClient outside a cluster succeeded")
	}
	if _, err := NewClient(t.TempDir() + "/absent"); err == nil {
		t.Error("NewClient with an absent kubeconfig succeeded")
	}
}

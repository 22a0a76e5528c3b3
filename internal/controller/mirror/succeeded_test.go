package mirror

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// successes records calls of the methods Succeeded and Forgotten as texts.
type successes struct {
	sync.Mutex
	calls []string
}

func (s *successes) Succeeded(uid, gang, owner string) { s.say("%s of %s, %s", uid, gang, owner) }
func (s *successes) Forgotten(uid string)              { s.say("%s is gone", uid) }

func (s *successes) say(format string, args ...any) {
	s.Lock()
	defer s.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *successes) sorted() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Sorted(slices.Values(s.calls))
}

// ownedBy makes a Job with the given UID the controller of a pod.
func ownedBy(pod *corev1.Pod, owner string) *corev1.Pod {
	kind := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{UID: types.UID(owner)}, kind)}
	return pod
}

// TestSucceeded checks which pods of a gang cause notifications of the informer that NewSucceeded
// returns. These are pods that had succeeded before the informer was started, pods that succeed
// later, and succeeded pods that are deleted.
func TestSucceeded(t *testing.T) {
	pod := func(name, owner, gang, phase string) *corev1.Pod {
		p := podOf(name, scenario.Words{"gang=" + gang, "phase=" + phase})
		if owner == "" {
			return p
		}
		return ownedBy(p, owner)
	}
	client := fake.NewClientset(
		pod("a", "job", "train", "Succeeded"), pod("bare", "", "train", "Succeeded"), pod("single", "job", "", "Succeeded"),
		pod("failed", "job", "train", "Failed"), pod("b", "job", "train", "Running"),
	)
	notified := &successes{}
	informer, knows, err := NewSucceeded(client, notified, newScene(t).mirror.env.Panicked)
	if err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), knows) {
		t.Fatal("not synced")
	}
	want := []string{"uid-a of default/train, job"}
	if diff := cmp.Diff(want, notified.sorted()); diff != "" {
		t.Fatalf("at first (-want +got):\n%s", diff)
	}
	pods := client.CoreV1().Pods("default")
	if _, err := pods.UpdateStatus(t.Context(), pod("b", "job", "train", "Succeeded"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want = append(want, "uid-a is gone", "uid-b of default/train, job")
	slices.Sort(want)
	for end := time.Now().Add(10 * time.Second); len(notified.sorted()) < len(want) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if diff := cmp.Diff(want, notified.sorted()); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}

package mirror

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// withLastPod returns a client of a fake API server, which has a single pod. The pod has the name
// "last" and the resource version 100.
func withLastPod(t *testing.T) *fake.FakeMetadataClient {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	last := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "last", UID: "uid-last", ResourceVersion: "100"}}
	last.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return fake.NewSimpleMetadataClient(scheme, last)
}

// held is a state of the nodes in which all pods are assigned to nodes.
func held(string) bool { return true }

// TestCatchUpWhileListing checks that CatchUp waits for each bound pod, even if the mirror has handled
// a later version of another pod before it. An informer that lists its pods again does this. But
// CatchUp must not wait for ever for a pod that the mirror cannot handle.
func TestCatchUpWhileListing(t *testing.T) {
	for handledAfter, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, time.Hour: patience} {
		synctest.Test(t, func(t *testing.T) {
			n := &Newest{}
			n.note(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "105"}})
			began := time.Now()
			handled := func(uid string) bool { return uid == "uid-last" && time.Since(began) >= handledAfter }
			err := n.CatchUp(t.Context(), withLastPod(t), handled)
			if took := time.Since(began); err != nil || took < want || took > want+2*relistAfter {
				t.Errorf("CatchUp = %v after %v, want it after %v", err, took, want)
			}
		})
	}
}

// TestCatchUp checks that CatchUp waits until the mirror has handled the newest Binding, or a later
// event, such as the deletion of another pod.
func TestCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := withLastPod(t)
		n, handled := &Newest{}, 0
		handler := n.track(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { handled++ }, DeleteFunc: func(any) { handled++ }})
		pod := func(version string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
		}
		handler.OnAdd(pod("99"), true)
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := n.CatchUp(soon, client, held); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a bind was not told of, and CatchUp = %v", err)
		}
		time.AfterFunc(time.Second, func() { handler.OnDelete(pod("101")) })
		began := time.Now()
		if err := n.CatchUp(t.Context(), client, held); err != nil || time.Since(began) < time.Second || handled != 2 {
			t.Errorf("CatchUp = %v after %v, told of %d", err, time.Since(began), handled)
		}
	})
}

// TestCatchUpAfterErrors checks that CatchUp lists the pods again if a list fails, but not if the
// process has no permission to list pods.
func TestCatchUpAfterErrors(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, tc := range map[string]struct {
		answer error
		fails  bool
		lists  int
	}{
		"429": {apierrors.NewTooManyRequests("later", 0), false, 3},
		"500": {apierrors.NewInternalError(errors.New("etcd")), false, 3},
		"403": {apierrors.NewForbidden(pods, "", errors.New("no role")), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, lists := withLastPod(t), 0
				client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					lists++
					return lists <= 2, nil, tc.answer
				})
				n := &Newest{}
				n.note(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "100"}})
				if err := n.CatchUp(t.Context(), client, held); (err != nil) != tc.fails || lists != tc.lists {
					t.Errorf("CatchUp = %v after %d lists, want an error: %v, after %d", err, lists, tc.fails, tc.lists)
				}
			})
		})
	}
}

// TestCatchUpAfterDelete checks that CatchUp returns even if the newest pod is deleted and the
// informer gets no event with the version of this pod. This happens if the informer lists pods at
// the moment of the deletion.
func TestCatchUpAfterDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := withLastPod(t)
		n := &Newest{}
		time.AfterFunc(1500*time.Millisecond, func() {
			pods := corev1.SchemeGroupVersion.WithResource("pods")
			if err := client.Resource(pods).Namespace("default").Delete(t.Context(), "last", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := n.CatchUp(soon, client, held); err != nil {
			t.Errorf("CatchUp = %v after the pod's deletion", err)
		}
	})
}

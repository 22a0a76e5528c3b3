package filters

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/numalet/numalet/pkg/sched"
)

// TestWatch checks that Watch calls `notify` when a volume claim is created, changed or deleted.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, calls := fake.NewClientset(), 0
		factory := informers.NewSharedInformerFactory(client, 0)
		notify := func(topics []sched.Topic, _ func(*sched.Pod) bool) {
			if len(topics) != 1 || topics[0] != topicClaims {
				t.Errorf("announced: %v, want claims", topics)
			}
			calls++
		}
		if err := Watch(factory, notify); err != nil {
			t.Fatal(err)
		}
		factory.Start(t.Context().Done())
		synctest.Wait()
		claims := client.CoreV1().PersistentVolumeClaims("default")
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", ResourceVersion: "1"}}
		for i, do := range []func() error{
			func() error { _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); return err },
			func() error {
				claim.ResourceVersion = "2"
				_, err := claims.Update(t.Context(), claim, metav1.UpdateOptions{})
				return err
			},
			func() error { return claims.Delete(t.Context(), "a", metav1.DeleteOptions{}) },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); calls != i+1 {
				t.Errorf("told %d times, want %d", calls, i+1)
			}
		}
	})
}

// TestTwice checks the function that `twice` returns. It must call f at once for each change, and
// once more for all changes within a second.
func TestTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls []time.Duration
		changed := twice(func() { calls = append(calls, time.Since(start)) })
		for _, pause := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
			time.Sleep(pause)
			synctest.Wait()
			changed()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want := []time.Duration{0, 300 * time.Millisecond, time.Second, 2300 * time.Millisecond, 3300 * time.Millisecond}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("told at (-want +got):\n%s", diff)
		}
	})
}

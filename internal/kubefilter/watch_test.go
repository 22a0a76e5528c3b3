package kubefilter

import (
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// TestWatch: what claims are met with, and what namespaces are called, is told of
// when it comes, changes and goes.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, told := fake.NewClientset(), 0
		factory := informers.NewSharedInformerFactory(client, 0)
		if err := Watch(factory, func() { told++ }); err != nil {
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
			if synctest.Wait(); told != i+1 {
				t.Errorf("told %d times, want %d", told, i+1)
			}
		}
	})
}

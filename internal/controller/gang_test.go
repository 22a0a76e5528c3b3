package controller

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// together creates n pending pods of a gang with two exclusive CPUs each. At least the given number
// of them must start together.
func (w *world) together(gang string, n, least int) {
	w.Helper()
	for i := range n {
		w.create(ofGang(gang, i, least))
	}
}

func ofGang(gang string, i, least int) *corev1.Pod {
	pod := pendingPod(fmt.Sprint(gang, "-", i), "2", "single")
	pod.Labels = map[string]string{v1alpha1.LabelGang: gang}
	pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(least)
	return pod
}

// started returns how many pods of a gang are bound.
func (w *world) started(gang string) (n int) {
	w.Helper()
	for name := range w.bound() {
		if strings.HasPrefix(name, gang+"-") {
			n++
		}
	}
	return n
}

// TestGangs checks two gangs of three pods each, on a node with room for four pods. Gang a must
// start. Gang b must wait with a reason, first because one of its pods has not been created, and
// then because it does not fit. When gang a has ended, gang b must start.
func TestGangs(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	w.together("a", 3, 3)
	w.together("b", 2, 3)
	w.start()
	w.await("the gang a has started", func() bool { return w.started("a") == 3 })
	client := w.queueClient()
	w.await("b lacks a pod", func() bool {
		pod, err := client.Get(t.Context(), "default", "b-1")
		return err == nil && strings.Contains(pod.Status.WaitsFor, "at least 1 more pod(s) must be created")
	})
	w.create(ofGang("b", 2, 3))
	w.await("the authors of all of b hear why they wait", func() bool {
		return strings.Contains(w.unscheduled("b-0"), "room for 3 pods of gang default/b") && strings.Contains(w.unscheduled("b-2"), "start together: with 1 of them placed, 0/1 nodes are available: 1 Insufficient cpu.")
	})
	if n := w.started("b"); n > 0 {
		t.Fatalf("%d of b are bound: %v", n, w.bound())
	}
	for i := range 3 {
		if err := w.client.CoreV1().Pods("default").Delete(t.Context(), fmt.Sprint("a-", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.await("the gang b has started", func() bool { return w.started("b") == 3 })
}

// TestGangOfWhichOneSucceeded checks a gang of three pods. One of them has succeeded, and another
// one was deleted. The pod that replaces the deleted pod must start, although it is the only
// pending pod of the gang.
func TestGangOfWhichOneSucceeded(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	ofJob := func(i int) *corev1.Pod {
		pod := ofGang("a", i, 3)
		pod.OwnerReferences = controlledBy("train")
		return pod
	}
	for i := range 3 {
		w.create(ofJob(i))
	}
	w.start()
	w.await("the gang has started", func() bool { return w.started("a") == 3 })
	pods := w.client.CoreV1().Pods("default")
	done, err := pods.Get(t.Context(), "a-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done.Status.Phase = corev1.PodSucceeded
	if _, err := pods.UpdateStatus(t.Context(), done, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.end("a-1")
	w.create(ofJob(3))
	w.await("the one in its place has started", func() bool { return w.isBound("a-3") })
}

// TestGangWithFailingBinds checks that all pods of a gang are bound in the end, even if the API
// server refuses the first Binding of each pod.
func TestGangWithFailingBinds(t *testing.T) {
	w := newWorld(t)
	refused := map[string]bool{}
	w.refuse = func(b *corev1.Binding) error {
		if refused[b.Name] {
			return nil
		}
		refused[b.Name] = true
		return apierrors.NewForbidden(corev1.Resource("pods/binding"), b.Name, errors.New("not now"))
	}
	w.node("n1", 4)
	w.together("a", 4, 3)
	w.start()
	w.await("all are bound", func() bool { return w.started("a") == 4 })
}

// TestGangOverQuota checks a gang that exceeds its tenant's quota as a whole, although each pod
// alone is within the quota. The gang must wait with this reason, and other pods must be scheduled
// before it.
func TestGangOverQuota(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.limit("default", "8")
	w.together("a", 2, 2)
	w.start()
	w.await("the gang a has started", func() bool { return w.started("a") == 2 })
	w.together("b", 3, 3)
	const why = "3 pods of gang default/b start together: tenant default, CPUs: 6 CPUs requested, but 4 CPUs in use and the limit is 8 CPUs"
	w.await("all of b hear why they wait", func() bool {
		return strings.Contains(w.unscheduled("b-0"), why) && strings.Contains(w.unscheduled("b-2"), why)
	})
	client := w.queueClient()
	if pod, err := client.Get(t.Context(), "default", "b-1"); err != nil || !strings.Contains(pod.Status.WaitsFor, why) {
		t.Errorf("b-1 waits for %q, %v; want %s", pod.Status.WaitsFor, err, why)
	}
	w.pod("single", "2", "single")
	w.await("a younger pod that is within the quota passes", func() bool { return w.isBound("single") })
	w.end("single")
	w.end("a-0")
	w.await("the gang b has started", func() bool { return w.started("b") == 3 })
}

// TestGangOfLimitedTenant checks two gangs that are within their tenant's quota but do not fit. The
// queue must not try them again and again while nothing changes.
func TestGangOfLimitedTenant(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 2)
	w.limit("default", "100")
	w.together("a", 3, 3)
	w.together("b", 3, 3)
	w.start()
	w.await("both hear why they wait", func() bool { return w.unscheduled("a-0") != "" && w.unscheduled("b-0") != "" })
	before := w.controller.pipeline.Counters().Unschedulable
	time.Sleep(200 * time.Millisecond)
	if n := w.controller.pipeline.Counters().Unschedulable - before; n > 4 {
		t.Errorf("they were tried %d times, though nothing has changed", n)
	}
}

// limit sets a tenant's quota of CPUs.
func (w *world) limit(tenant, cpus string) {
	w.quotas.Add(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: tenant}, Spec: v1alpha1.TenantSpec{
		Quotas: map[string]resource.Quantity{"cpu": resource.MustParse(cpus)},
	}})
}

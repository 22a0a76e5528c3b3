//go:build e2e

package controller

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// TestGangs creates two gangs (groups of pods that start together) of six pods each, for ten nodes.
// Each pod needs a node of its own. The test checks that one gang runs, and that no pod of the
// second gang is bound until the first has ended. Nodes are reserved for the second gang, so single
// pods that would fit on these nodes must not start before it.
func TestGangs(t *testing.T) {
	w := newWorld(t, 10, hollowcluster.Shape{NUMA: 1, CPUs: 5})
	for i := range 6 { // the pods of the gangs alternate, as if two operators created them at the same time
		w.create(ofGang("red", i, 6))
		w.create(ofGang("blue", i, 6))
	}
	first, second := w.race("red", "blue")
	t.Logf("%s is first", first)
	w.await("the author hears why it waits", func() bool { return said(w.pod(second+"-5")) != "" })
	t.Logf("%s-5: %s", second, said(w.pod(second+"-5")))
	time.Sleep(time.Second) // the single pods must be younger than the gangs, to come after them; creation times are in whole seconds
	for i := range 4 {
		w.create(hollowcluster.Pod("default", fmt.Sprint("small-", i), "numalet-scheduler", "4", 0))
	}
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if n, small := w.gang(second), w.gang("small"); n+small > 0 {
			t.Fatalf("%d of %s and %d single pods are bound beside %s", n, second, small, first)
		}
	}
	for i := range 6 {
		w.must(w.api.CoreV1().Pods("default").Delete(w.ctx, fmt.Sprint(first, "-", i), *metav1.NewDeleteOptions(0)))
		if n := w.gang(second); i == 0 && n > 0 {
			t.Errorf("%d of %s are bound after one of %s was deleted", n, second, first)
		}
	}
	w.await("the other runs", func() bool { return w.gang(second) == 6 })
	w.await("single pods have what is left", func() bool { return w.gang("small") == 4 })
	w.replacePod(second)
}

// replacePod deletes one pod of a running gang and creates a new one. It checks that the new pod
// starts alone, because the remaining pods of the gang already run.
func (w *world) replacePod(gang string) {
	w.Helper()
	w.must(w.api.CoreV1().Pods("default").Delete(w.ctx, gang+"-3", *metav1.NewDeleteOptions(0)))
	w.create(ofGang(gang, 6, 6))
	w.await("all six run again", func() bool { return w.gang(gang) == 6 })
}

// race waits until all pods of one of the two gangs are bound. It returns this gang first, and then
// the other one.
func (w *world) race(a, b string) (first, second string) {
	w.Helper()
	w.await("all of one are bound", func() bool { return w.gang(a) == 6 || w.gang(b) == 6 })
	if w.gang(a) < 6 {
		a, b = b, a
	}
	if n := w.gang(b); n > 0 {
		w.Fatalf("%d of %s are bound beside all of %s", n, b, a)
	}
	return a, b
}

// gang counts the bound pods whose names start with the given name, such as the pods of a gang.
func (w *world) gang(name string) (n int) {
	w.Helper()
	list, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	w.must(err)
	for _, pod := range list.Items {
		if pod.Spec.NodeName != "" && len(pod.Name) > len(name) && pod.Name[:len(name)] == name {
			n++
		}
	}
	return n
}

// ofGang returns the i-th pod of a gang. The pod needs a whole node of five CPUs. The pods of the
// gang start only when at least a minimum number of them (the argument `least`) can start together.
func ofGang(gang string, i, least int) *corev1.Pod {
	pod := hollowcluster.Pod("default", fmt.Sprint(gang, "-", i), "numalet-scheduler", "4", 0)
	pod.Labels[v1alpha1.LabelGang] = gang
	pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(least)
	return pod
}

// said returns the message of a pod's condition PodScheduled while this condition is False.
func said(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

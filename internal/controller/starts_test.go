package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestForecast checks the forecast for a pod that waits until a running pod ends. The running pod
// has run for four minutes. There must be no forecast while no pod has ended. Then a third pod
// ends, which has run on another node for ten minutes. The forecast must now assume that the
// running pod also runs for ten minutes, so that the waiting pod starts in six minutes.
func TestForecast(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.start()
	for _, p := range []struct {
		name, node string
		ran        time.Duration
	}{{"ends", "gone", 10 * time.Minute}, {"runs", "n1", 4 * time.Minute}} {
		pod := pendingPod(p.name, "12", "")
		pod.Spec.NodeName = p.node
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-p.ran))}}
		w.create(pod)
		w.await("it is assigned", func() bool { return w.controller.state.Holds("uid-" + p.name) })
	}
	w.pod("a", "12", "")
	w.await("it fits no node", func() bool { return w.controller.queue.Depth()[queue.Unschedulable] == 1 })
	client := w.queueClient()
	ask := func() queueapi.Forecast {
		w.Helper()
		pod, err := client.Get(t.Context(), "default", "a")
		if err != nil {
			w.Fatal(err)
		}
		return *pod.Status.Forecast
	}
	if diff := cmp.Diff(queueapi.Forecast{Unknown: "no pod has ended yet, so it is not known how long pods run"}, ask()); diff != "" {
		t.Errorf("before a pod has ended (-want +got):\n%s", diff)
	}
	if err := w.client.CoreV1().Pods("default").Delete(t.Context(), "ends", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("it is released", func() bool { return !w.controller.state.Holds("uid-ends") })
	got := ask()
	for _, text := range []string{got.P50, got.P90} {
		// The forecast is in whole seconds, and the test itself takes some time.
		if in, err := time.ParseDuration(text); err != nil || in > 6*time.Minute+time.Second || in < 5*time.Minute {
			t.Errorf("forecast %+v, want six minutes", got)
		}
	}
	refused := false
	for range 2 * forecastBurst {
		refused = refused || ask().P50 == ""
	}
	if !refused {
		t.Errorf("%d questions at once were all answered", 2*forecastBurst)
	}
}

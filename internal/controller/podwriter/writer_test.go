package podwriter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/pkg/sched"
)

// TestBind checks which events and conditions are written about a pod, depending on the outcome of
// its Binding. After the Binding, no report of an earlier failure may be written. The test also
// checks that Prepare is called only for pods whose field Across (sched.Pod) is set.
func TestBind(t *testing.T) {
	refused := apierrors.NewBadRequest("no")
	for name, tc := range map[string]struct {
		claims          bool
		answer, prepare error
		written         []string
		waits           []float64
		prepared        int
	}{
		"bound": {
			written: []string{"event Normal Scheduled Binding by numalet-scheduler on a: Successfully assigned default/a to n1"},
			waits:   []float64{3},
		},
		"bound, with claims": {
			claims: true, prepared: 1,
			written: []string{"event Normal Scheduled Binding by numalet-scheduler on a: Successfully assigned default/a to n1"},
			waits:   []float64{3},
		},
		"refused": {
			answer: refused,
			written: []string{
				"event Warning FailedScheduling Binding by numalet-scheduler on a: bind pod default/a to node \"n1\": no",
				"status of a: bind pod default/a to node \\", // the function `written` cuts the message off at its first quotation mark
			},
		},
		"gone": {answer: apierrors.NewNotFound(corev1.Resource("pods"), "a")},
		"claims that cannot be prepared": {
			claims: true, prepared: 1, prepare: errors.New("no volume"),
			written: []string{
				"event Warning FailedScheduling Binding by numalet-scheduler on a: no volume",
				"status of a: no volume",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				prepared, waits := 0, []float64(nil)
				writer := Writer{
					Reporter: w.Reporter,
					Binder: NewBinder(BinderOptions{
						CreateBinding: func(context.Context, *corev1.Binding) error { return tc.answer },
						Client:        w.client, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: open, Timeout: time.Second,
					}),
					Prepare: func(_ context.Context, _ sched.Decision, _ func(), post func() error) error {
						prepared++
						if tc.prepare != nil {
							return tc.prepare
						}
						return post()
					},
					Waited: func(string) (time.Duration, bool) { return 3 * time.Second, true },
					Waits:  prometheus.ObserverFunc(func(seconds float64) { waits = append(waits, seconds) }),
				}
				a := pod("a")
				a.Across = tc.claims
				w.Unschedulable(a) // the Reporter begins to explain this failure
				synctest.Wait()
				err := writer.Bind(t.Context(), sched.Decision{Pod: a, At: sched.Placement{Node: "n1"}}, attached)
				if (err != nil) != (tc.answer != nil || tc.prepare != nil) {
					t.Errorf("error %v", err)
				}
				time.Sleep(time.Minute)
				check(t, w, tc.written...)
				if diff := cmp.Diff(tc.waits, waits) + cmp.Diff(tc.prepared, prepared); diff != "" {
					t.Errorf("waits and prepared (-want +got):\n%s", diff)
				}
			})
		})
	}
}

package podwriter

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/pkg/sched"
)

// TestGaps checks how long a report waits for a gap between Bindings.
func TestGaps(t *testing.T) {
	for _, tc := range []struct {
		name     string
		bindings int           // number of Bindings in flight
		take     time.Duration // how long each of these Bindings is in flight
		want     time.Duration
	}{
		{"no Binding", 0, 0, 0},
		{"a short Binding", 1, 4 * time.Millisecond, 4 * time.Millisecond},
		{"a long Binding", 1, time.Hour, idleGap},
		{"several Bindings", crowded - 1, time.Second, idleGap},
		{"many Bindings", crowded, time.Second, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGaps()
				for range tc.bindings {
					end := g.begin()
					go func() { time.Sleep(tc.take); end(); end() }()
				}
				began := time.Now()
				if g.wait(); time.Since(began) != tc.want {
					t.Errorf("the report waits for %s, want %s", time.Since(began), tc.want)
				}
				time.Sleep(tc.take)
			})
		})
	}
}

// TestReportInGap checks that the reports about a pod that waits are written after the Binding of
// another pod, and not while this Binding is in flight. A Binding without an answer holds up
// reports for a short time only.
func TestReportInGap(t *testing.T) {
	for name, tc := range map[string]struct{ take, want time.Duration }{
		"short": {20 * time.Millisecond, 20 * time.Millisecond},
		"hangs": {time.Hour, idleGap},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				began, told := time.Now(), make(chan time.Duration, 2) // `told` gets two durations since `began`: until the event is written, and until the condition is written
				tell := func(clienttesting.Action) (bool, runtime.Object, error) {
					told <- time.Since(began)
					return true, nil, nil
				}
				w.client.PrependReactor("create", "events", tell)
				w.client.PrependReactor("patch", "pods", tell)
				writer := Writer{
					Reporter: w.Reporter, Waited: func(string) (time.Duration, bool) { return 0, false },
					Binder: NewBinder(BinderOptions{
						CreateBinding: func(context.Context, *corev1.Binding) error { time.Sleep(tc.take); return nil },
						Client:        w.client, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: open, Timeout: time.Hour,
					}),
				}
				go func() {
					_ = writer.Bind(t.Context(), sched.Decision{Pod: pod("b"), At: sched.Placement{Node: "n1"}}, func() {})
				}()
				synctest.Wait()
				w.Refused(pod("a"), errors.New("it requests too much"))
				if got := min(<-told, <-told); got != tc.want {
					t.Errorf("the first report is written after %s, want %s", got, tc.want)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestSlowBindings checks Bindings whose answers may never come. They must hold up reports only until
// the first maxTries requests. By then, Bind tells its caller not to wait for this pod, unless too many
// other Bindings have no answer.
func TestSlowBindings(t *testing.T) {
	for name, tc := range map[string]struct {
		others int32
		want   bool // whether Bind calls its argument `detach`
	}{
		"one below the limit": {maxUnanswered - 1, true},
		"at the limit":        {maxUnanswered, false},
	} {
		t.Run(name, func(t *testing.T) { testSlowBinding(t, tc.others, tc.want) })
	}
}

func testSlowBinding(t *testing.T, others int32, want bool) {
	run(t, func(t *testing.T, w *world) {
		var answers atomic.Bool
		writer := Writer{
			Reporter: w.Reporter, Waited: func(string) (time.Duration, bool) { return 0, false },
			Binder: NewBinder(BinderOptions{
				CreateBinding: func(context.Context, *corev1.Binding) error {
					time.Sleep(time.Second)
					if answers.Load() {
						return nil
					}
					return errors.New("no answer")
				},
				Client: w.client, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: open, Timeout: time.Minute,
			}),
		}
		writer.slow.n.Store(others)
		var detached atomic.Bool
		go func() {
			_ = writer.Bind(t.Context(), sched.Decision{Pod: pod("b"), At: sched.Placement{Node: "n1"}}, func() { detached.Store(true) })
		}()
		time.Sleep(time.Minute)
		if detached.Load() != want {
			t.Errorf("detached: %v, want %v", detached.Load(), want)
		}
		began := time.Now()
		if w.gaps.wait(); time.Since(began) != 0 {
			t.Errorf("a report waits for %s, want 0 s", time.Since(began))
		}
		answers.Store(true)
		time.Sleep(time.Hour)
		if n := writer.slow.n.Load(); n != others {
			t.Errorf("%d Bindings count after the answer, want %d", n, others)
		}
	})
}

package podwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/pkg/sched"
)

func pod(name string) *sched.Pod {
	return &sched.Pod{Namespace: "default", Name: name, UID: "uid-" + name, Profile: "numalet-scheduler"}
}

// world is a running Reporter with a fake API server.
type world struct {
	*Reporter
	client    *fake.Clientset
	explained atomic.Int32
}

func (w *world) createEvent(ctx context.Context, e *eventsv1.Event) error {
	_, err := w.client.EventsV1().Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	return err
}

// run calls f with a running Reporter, on a simulated clock (testing/synctest).
func run(t *testing.T, f func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{client: fake.NewClientset()}
		for _, name := range []string{"a", "b"} {
			object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
			if err := w.client.Tracker().Add(object); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		explain := func(pod *sched.Pod) string {
			w.explained.Add(1)
			time.Sleep(time.Second)
			return fmt.Sprintf("0/3 nodes are available: 3 Insufficient cpu. (%s)", pod.Name)
		}
		r, err := NewReporter(ctx, Dependencies{Client: w.client, CreateEvent: w.createEvent, Explain: explain})
		if err != nil {
			t.Fatal(err)
		}
		w.Reporter = r
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		f(t, w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// written returns the text of all events and conditions that were written, sorted.
func (w *world) written() []string {
	var all []string
	for _, action := range w.client.Actions() {
		switch a := action.(type) {
		case clienttesting.CreateAction:
			e := a.GetObject().(*eventsv1.Event)
			all = append(all, fmt.Sprintf("event %s %s %s by %s on %s: %s", e.Type, e.Reason, e.Action, e.ReportingController, e.Regarding.Name, e.Note))
		case clienttesting.PatchAction:
			all = append(all, fmt.Sprintf("%s of %s: %s", a.GetSubresource(), a.GetName(), message(a)))
		}
	}
	slices.Sort(all)
	return all
}

// message returns the message of the condition in a patch of a pod.
func message(patch clienttesting.PatchAction) string {
	_, message, _ := strings.Cut(string(patch.GetPatch()), `"message":"`)
	message, _, _ = strings.Cut(message, `"`)
	return message
}

func check(t *testing.T, w *world, want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, w.written()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestScheduled(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.scheduled(sched.Decision{Pod: pod("a"), At: sched.Placement{Node: "n1"}})
		check(t, w, "event Normal Scheduled Binding by numalet-scheduler on a: Successfully assigned default/a to n1")
	})
}

// TestUnschedulable checks that a pod that fails again with the same message is not reported again
// within minutes. It also checks that nothing is reported about a pod for which Forget was called.
// The explanation of pod b has to wait for the pause after that of pod a, so the first condition of b
// has no reasons yet.
func TestUnschedulable(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		for range 3 {
			w.Unschedulable(pod("a"))
			w.Unschedulable(pod("b"))
			time.Sleep(time.Minute)
		}
		w.Unschedulable(pod("a"))
		w.Forget("uid-a")
		w.Forget("uid-b")
		time.Sleep(time.Minute)
		check(t, w,
			"event Warning FailedScheduling Scheduling by numalet-scheduler on a: 0/3 nodes are available: 3 Insufficient cpu. (a)",
			"event Warning FailedScheduling Scheduling by numalet-scheduler on b: 0/3 nodes are available: 3 Insufficient cpu. (b)",
			"status of a: 0/3 nodes are available: 3 Insufficient cpu. (a)",
			"status of b: 0/3 nodes are available: 3 Insufficient cpu. (b)",
			"status of b: no node suits the pod now; the reasons will follow")
	})
}

// TestNotPending checks that nothing is reported about a pod that is bound or gone, although no node
// suited it shortly before, and that the report is forgotten.
func TestNotPending(t *testing.T) {
	bound := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	for name, newest := range map[string]*corev1.Pod{"bound": bound, "gone": nil} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.newest = func(string, string) *corev1.Pod { return newest }
				w.Unschedulable(pod("a"))
				time.Sleep(time.Minute)
				check(t, w)
				if got := w.LastReport("uid-a"); got != "" {
					t.Errorf("the last report is %q, want none", got)
				}
				if _, kept := w.failures.explained["uid-a"]; kept {
					t.Error("the explanation is still kept")
				}
			})
		})
	}
}

// TestPlacedMembers checks that of a gang for which too few nodes have room, only those pods are
// reported that no node was found for. The others are being bound.
func TestPlacedMembers(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.placed = func(uid string) bool { return uid == "uid-a" }
		first := pod("a")
		first.Gang = &sched.Gang{ID: "g", Need: 2, Members: []*sched.Pod{first, pod("b")}}
		w.Unschedulable(first)
		time.Sleep(time.Minute)
		const why = "0/3 nodes are available: 3 Insufficient cpu. (a)"
		check(t, w, "event Warning FailedScheduling Scheduling by numalet-scheduler on b: "+why, "status of b: "+why)
	})
}

func TestRefused(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Refused(pod("a"), errors.New("remove the annotation"))
		check(t, w,
			"event Warning FailedScheduling Scheduling by numalet-scheduler on a: remove the annotation",
			"status of a: remove the annotation")
		if w.explained.Load() != 0 {
			t.Error("a refusal was explained")
		}
	})
}

// TestWaits checks that a report about a pod that waits in the queue gets an event of its own, although
// it follows another report about the pod by less than six minutes.
func TestWaits(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Unschedulable(pod("a"))
		time.Sleep(time.Minute)
		w.Waits(pod("a"), "its attempts fail again and again")
		time.Sleep(time.Second)
		check(t, w,
			"event Warning FailedScheduling Queueing by numalet-scheduler on a: its attempts fail again and again",
			"event Warning FailedScheduling Scheduling by numalet-scheduler on a: 0/3 nodes are available: 3 Insufficient cpu. (a)",
			"status of a: 0/3 nodes are available: 3 Insufficient cpu. (a)",
			"status of a: its attempts fail again and again")
	})
}

// TestFailed checks the condition of a pod that could not be bound. The reason in the condition
// must be SchedulerError, and not Unschedulable.
func TestFailed(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.failed(pod("a"), errors.New("bind pod default/a: not now"))
		check(t, w,
			"event Warning FailedScheduling Binding by numalet-scheduler on a: bind pod default/a: not now",
			"status of a: bind pod default/a: not now")
		a, err := w.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || a.Status.Conditions[0].Reason != corev1.PodReasonSchedulerError {
			t.Errorf("conditions %+v (%v), want the reason %s", a.Status.Conditions, err, corev1.PodReasonSchedulerError)
		}
	})
}

// TestLongReport checks that the note of an event is cut to the length that the API server accepts,
// and that the condition has the whole message.
func TestLongReport(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		long := strings.Repeat("a", 2000)
		w.Refused(pod("a"), errors.New(long))
		check(t, w,
			"event Warning FailedScheduling Scheduling by numalet-scheduler on a: "+long[:1020]+" ...",
			"status of a: "+long)
	})
}

// TestSuppress checks that no report is written about a pod after suppress was called for the pod.
// It also checks that suppress waits while a report about the pod is being written.
func TestSuppress(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Unschedulable(pod("a")) // the Reporter begins to explain this failure
		w.Unschedulable(pod("b")) // this failure waits
		synctest.Wait()
		w.suppress("uid-a")
		w.suppress("uid-b")
		time.Sleep(time.Minute)
		check(t, w)

		w.failures.explaining = "uid-a"
		write := w.failures.beginWrite(failure{pod: pod("a")})
		suppressed := make(chan bool, 1)
		go func() { w.suppress("uid-a"); suppressed <- true }()
		w.suppress("uid-b")
		synctest.Wait()
		if len(suppressed) != 0 {
			t.Error("suppressed while it was written")
		}
		w.failures.endWrite(write)
		<-suppressed
	})
}

// TestSuppressUnexplained checks that no explanation is made for a pod for which suppress was called
// while its first condition, which has no reasons, was being written. The pod is being bound.
func TestSuppressUnexplained(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Reporter.client = slowClient{w.client, func(string) time.Duration { return time.Second }}
		w.Unschedulable(pod("a")) // is explained, which takes 1 s
		w.Unschedulable(pod("b")) // its condition is written from then on, without an explanation
		time.Sleep(1500 * time.Millisecond)
		w.suppress("uid-b")
		time.Sleep(time.Minute)
		check(t, w,
			"event Warning FailedScheduling Scheduling by numalet-scheduler on a: 0/3 nodes are available: 3 Insufficient cpu. (a)",
			"status of a: 0/3 nodes are available: 3 Insufficient cpu. (a)",
			"status of b: no node suits the pod now; the reasons will follow")
	})
}

// TestExplanationsRest checks that Run pauses between explanations. Run must spend only a tenth of
// its time on making explanations, even if many pods fit no node.
func TestExplanationsRest(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		for i := range 100 {
			w.Unschedulable(pod(fmt.Sprint(i)))
		}
		time.Sleep(99 * time.Second)
		if n := w.explained.Load(); n != 10 {
			t.Errorf("%d explanations of 1 s each in 100 s, want 10", n)
		}
	})
}

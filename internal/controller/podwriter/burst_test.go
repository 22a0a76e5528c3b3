package podwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/pkg/sched"
)

// TestConditionFence checks that a process that has lost the lease writes no condition. The new
// leader may have bound the pod, and the condition would then say wrongly that the pod is not
// scheduled. A process that has lost the lease while it was stopped after the check of the lease
// must not write the condition either.
func TestConditionFence(t *testing.T) {
	lost := errors.New("the lease is lost")
	for name, tc := range map[string]struct {
		stopped time.Duration // how long the process is stopped after the first check
		later   error         // the result of later checks
		first   error
		want    int
	}{
		"held":                         {want: 1},
		"lost":                         {first: lost, later: lost},
		"stopped until it was lost":    {stopped: time.Hour, later: lost},
		"stopped, and held thereafter": {stopped: time.Hour, want: 1},
	} {
		run(t, func(t *testing.T, w *world) {
			checks := 0
			w.Reporter.client, w.timeout = slowClient{w.client, tenMillis}, time.Minute
			w.fence = func() error {
				if checks++; checks > 1 {
					return tc.later
				}
				time.Sleep(tc.stopped)
				return tc.first
			}
			w.Refused(pod("a"), errors.New("it requests too much"))
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			conditions := 0
			for _, text := range w.written() {
				if strings.HasPrefix(text, "status of a") {
					conditions++
				}
			}
			if conditions != tc.want {
				t.Errorf("%s: %d conditions are written, want %d", name, conditions, tc.want)
			}
		})
	}
}

// TestBurst checks 1,000 pods that become unschedulable at the same time. An explanation of why no
// node suits a pod takes 100 ms to make. After each explanation, the Reporter pauses for 900 ms
// (explainShare). All 1,000 pods must have a condition within 5 s, also if they share no
// explanations (Dependencies.Kind), as pods with exclusive CPUs of different owners, or if their
// conditions said something else before. In the end, all pods must have their explanation, in one
// event each. If pods of two kinds share two explanations, each pod needs only one write of its
// condition.
func TestBurst(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   func(i int) string
		failed bool // the pods could not be bound before
		writes int  // largest number of conditions of one pod
	}{
		"two kinds":                {func(i int) string { return fmt.Sprint(i % 2) }, false, 1},
		"1,000 kinds":              {func(i int) string { return fmt.Sprint(i) }, false, 2},
		"share with none":          {func(int) string { return "" }, false, 2},
		"share with none, refused": {func(int) string { return "" }, true, 2},
	} {
		run(t, func(t *testing.T, w *world) {
			w.Reporter.client = slowClient{w.client, tenMillis}
			w.explain = func(p *sched.Pod) string {
				time.Sleep(100 * time.Millisecond)
				return "why " + p.Name
			}
			w.kindOf = func(p *sched.Pod) string { return p.NodeRules }
			if tc.failed {
				for i := range 1000 {
					w.failed(pod(fmt.Sprint(i)), errors.New("bind: not now"))
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				w.client.ClearActions()
			}
			for i := range 1000 {
				p := pod(fmt.Sprint(i))
				p.NodeRules = tc.kind(i)
				w.Unschedulable(p)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if n := len(w.messages()); n != 1000 {
				t.Errorf("%s: %d of 1000 pods have their condition after 5 s", name, n)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			for of, messages := range w.messages() {
				if last := messages[len(messages)-1]; !strings.HasPrefix(last, "why ") || len(messages) > tc.writes {
					t.Errorf("%s: conditions of pod %s: %q, want at most %d, the last one with the explanation", name, of, messages, tc.writes)
				}
			}
			events := slices.DeleteFunc(w.written(), func(said string) bool { return !strings.HasPrefix(said, "event ") })
			if len(events) != 1000 {
				t.Errorf("%s: %d events, want 1000", name, len(events))
			}
		})
	}
}

// messages returns the messages of the conditions that were written, in order, by the name of the
// pod.
func (w *world) messages() map[string][]string {
	all := map[string][]string{}
	for _, action := range w.client.Actions() {
		if a, is := action.(clienttesting.PatchAction); is && a.GetResource().Resource == "pods" {
			all[a.GetName()] = append(all[a.GetName()], message(a))
		}
	}
	return all
}

// TestBurstWhileBinding checks 1,000 pods that become unschedulable at the same time, while Bindings
// are in flight all the time, and while the reasons of 3,000 older unschedulable pods change. The
// first condition of each of the 1,000 pods must be written within 5 s, because cluster autoscalers
// add nodes only for pods with this condition. The conditions of the older pods must yield to the
// Bindings: at most one of them is written per idleGap. A patch of a condition takes 10 ms.
func TestBurstWhileBinding(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Reporter.client = slowClient{w.client, tenMillis}
		w.kindOf = func(p *sched.Pod) string { return p.NodeRules }
		w.explain = func(p *sched.Pod) string {
			time.Sleep(100 * time.Millisecond)
			return "kind " + p.NodeRules
		}
		w.newest = func(_, name string) *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
			if strings.HasPrefix(name, "old") {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			}
			return p
		}
		defer w.bindAlways(t)()
		for i := range 4000 {
			p := pod(fmt.Sprint("old", i))
			if p.NodeRules = "old"; i >= 3000 {
				p = pod(fmt.Sprint("new", i))
				p.NodeRules = fmt.Sprint(i % 2)
			}
			w.Unschedulable(p)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		conditions := map[string]int{}
		for _, said := range w.written() {
			if of, is := strings.CutPrefix(said, "status of "); is {
				conditions[of[:len("new")]]++
			}
		}
		if conditions["new"] != 1000 {
			t.Errorf("%d of 1000 pods have their first condition after 5 s", conditions["new"])
		}
		if most := int(5 * time.Second / idleGap); conditions["old"] > most {
			t.Errorf("%d later conditions are written in 5 s, want at most %d", conditions["old"], most)
		}
	})
}

// bindAlways binds pods all the time: from now on until the returned function is called, at least
// two Bindings are in flight, but fewer than `crowded`.
func (w *world) bindAlways(t *testing.T) (stop func()) {
	writer := Writer{
		Reporter: w.Reporter, Waited: func(string) (time.Duration, bool) { return 0, false },
		Binder: NewBinder(BinderOptions{
			CreateBinding: func(context.Context, *corev1.Binding) error { time.Sleep(30 * time.Millisecond); return nil },
			Client:        w.client, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: open, Timeout: time.Hour,
		}),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var binders sync.WaitGroup
	for i := range 3 {
		binders.Go(func() {
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			for n := 0; ctx.Err() == nil; n++ {
				if err := writer.Bind(ctx, sched.Decision{Pod: pod(fmt.Sprint("bound", i, "-", n)), At: sched.Placement{Node: "n1"}}, func() {}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(30 * time.Millisecond)
	return func() { cancel(); binders.Wait() }
}

// slowClient is a client whose patches of pods take the time that the field `takes` returns for the
// namespace of the pod.
type slowClient struct {
	kubernetes.Interface
	takes func(namespace string) time.Duration
}

// tenMillis is a value of slowClient.takes.
func tenMillis(string) time.Duration { return 10 * time.Millisecond }

func (c slowClient) CoreV1() typedcorev1.CoreV1Interface {
	return slowCore{c.Interface.CoreV1(), c.takes}
}

type slowCore struct {
	typedcorev1.CoreV1Interface
	takes func(namespace string) time.Duration
}

func (c slowCore) Pods(namespace string) typedcorev1.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace), func() time.Duration { return c.takes(namespace) }}
}

type slowPods struct {
	typedcorev1.PodInterface
	takes func() time.Duration
}

func (p slowPods) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*corev1.Pod, error) {
	if pause(ctx, p.takes()); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return p.PodInterface.Patch(ctx, name, kind, data, o, sub...)
}

// TestSharedExplanationsAge checks that pods of one kind share an explanation only for shareFor. In
// each of four minutes, three pods fail at the same time. The three pods share an explanation if
// their kind is "web". The pods of the next minute need a new one, because a minute is longer than
// shareFor. Pods with the kind "" share no explanation.
func TestSharedExplanationsAge(t *testing.T) {
	for kind, want := range map[string]int32{"": 12, "web": 4} {
		run(t, func(t *testing.T, w *world) {
			w.kindOf = func(*sched.Pod) string { return kind }
			w.explain = func(*sched.Pod) string {
				w.explained.Add(1)
				time.Sleep(100 * time.Millisecond)
				return "no node suits it"
			}
			for i := range 4 {
				for j := range 3 {
					w.Unschedulable(pod(fmt.Sprint(i, j)))
				}
				time.Sleep(time.Minute)
			}
			if n := w.explained.Load(); n != want {
				t.Errorf("kind %q: %d explanations, want %d", kind, n, want)
			}
		})
	}
}

// TestOutdated checks that pods get a new explanation when Outdated is called with their rules
// about nodes (sched.Pod.NodeRules). Pods with other rules, pods with a request that no node can
// fulfil (Reporter.Refused), pods that are being bound, and pods that are gone must get no new
// explanation. If the new explanation of a pod equals the old one, its condition must not be
// written again.
func TestOutdated(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		var why atomic.Value // atomic, because the reporter reads it in another goroutine
		why.Store("2 node(s) were unschedulable")
		w.kindOf = func(p *sched.Pod) string { return p.NodeRules }
		w.explain = func(p *sched.Pod) string { return p.NodeRules + ": " + why.Load().(string) }
		for _, name := range []string{"a", "bound", "gone", "other"} {
			p := pod(name)
			if p.NodeRules = "on a"; name == "other" {
				p.NodeRules = "on c"
			}
			w.Unschedulable(p)
		}
		w.Refused(pod("refused"), errors.New("remove the annotation"))
		time.Sleep(time.Second)
		w.suppress("uid-bound")
		w.Forget("uid-gone")
		for range 2 {
			why.Store("1 node(s) were unschedulable")
			w.Outdated("on a")
			w.Outdated("") // the field NodeRules of the pod "refused" is empty
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		var got []string
		for _, said := range w.written() {
			if strings.HasPrefix(said, "status") {
				got = append(got, said)
			}
		}
		want := []string{
			"status of a: on a: 1 node(s) were unschedulable", "status of a: on a: 2 node(s) were unschedulable",
			"status of bound: on a: 2 node(s) were unschedulable", "status of gone: on a: 2 node(s) were unschedulable",
			"status of other: on c: 2 node(s) were unschedulable", "status of refused: remove the annotation",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkOutdated measures a call of Outdated, while many pods wait.
func BenchmarkOutdated(b *testing.B) {
	for _, n := range []int{1000, 50_000} {
		b.Run(fmt.Sprint("waiting=", n), func(b *testing.B) {
			r := &Reporter{failures: newFailureQueue(), outdated: newOutdated()}
			for i := range n {
				r.Unschedulable(pod(fmt.Sprint(i)))
				f, _ := r.failures.pop()
				r.failures.endWrite(r.failures.beginWrite(f))
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Outdated("")
			}
		})
	}
}

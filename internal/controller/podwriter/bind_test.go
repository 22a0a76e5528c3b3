package podwriter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

func decision(containers ...podspec.Container) sched.Decision {
	return sched.Decision{
		Pod: &sched.Pod{Namespace: "default", Name: "a", UID: "uid-a"},
		At:  sched.Placement{Node: "n1", Containers: containers},
	}
}

// server is a fake API server. It answers Bindings with the given answers one after another, and
// then repeats the last answer. If the field `binds` is true, the server binds the pod at each
// Binding, even if the answer is an error.
type server struct {
	*fake.Clientset
	answers []error // to Bindings; nil for success
	reads   []error // answers to the first reads of the pod; nil for success
	binds   bool
	got     []*corev1.Binding
	waits   []time.Duration // how long the Binder waited each time
	late    func()          // lets an earlier request take effect; it is called in the first wait that is as long as BinderOptions.Timeout; nil for none
}

func newServer(binds bool, answers ...error) *server {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"}}
	s := &server{Clientset: fake.NewClientset(pod), answers: answers, binds: binds}
	s.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		binding, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		if !ok {
			return false, nil, nil
		}
		s.got = append(s.got, binding)
		if s.binds {
			bound := pod.DeepCopy()
			bound.Spec.NodeName = binding.Target.Name
			if err := s.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, bound, "default"); err != nil {
				return true, nil, err
			}
		}
		return true, nil, s.answers[min(len(s.got), len(s.answers))-1]
	})
	s.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if len(s.reads) == 0 {
			return false, nil, nil
		}
		first := s.reads[0]
		s.reads = s.reads[1:]
		return true, nil, first
	})
	return s
}

func (s *server) binder(fence func() error) *Binder {
	create := func(ctx context.Context, b *corev1.Binding) error {
		return s.CoreV1().Pods(b.Namespace).Bind(ctx, b, metav1.CreateOptions{})
	}
	return NewBinder(BinderOptions{
		CreateBinding: create, Client: s, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: fence, Timeout: time.Second,
		Sleep: s.sleep,
	})
}

func (s *server) sleep(d time.Duration) {
	s.waits = append(s.waits, d)
	if late := s.late; late != nil && d == time.Second {
		s.late = nil
		late()
	}
}

func open() error { return nil }

func attached() {} // for tests in which the argument `detach` of Bind does not matter; Bind calls this function when its caller need not wait for the pod any longer

func TestOneWrite(t *testing.T) {
	server := newServer(true, nil)
	d := decision(podspec.Container{Name: "main", PerNode: map[topology.NodeID]int{0: 2, 8: 1}})
	if err := server.binder(open).Bind(t.Context(), d, attached); err != nil {
		t.Fatal(err)
	}
	want := []*corev1.Binding{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "a", UID: "uid-a",
			Annotations: map[string]string{"numalet.dev/placement": `{"version":1,"containers":{"main":{"cpus":{"0":2,"8":1}}}}`},
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}}
	if diff := cmp.Diff(want, server.got); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	if n := len(server.Actions()); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}

func TestPlainPodCarriesNoPlacement(t *testing.T) {
	server := newServer(true, nil)
	if err := server.binder(open).Bind(t.Context(), decision(), attached); err != nil || server.got[0].Annotations != nil {
		t.Errorf("Bind = %v with annotations %v, want none", err, server.got[0].Annotations)
	}
}

// TestBindAnswers checks, for different answers of the API server, that Bind returns nil if the pod
// is bound as decided, and otherwise an error.
func TestBindAnswers(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	silence, assigned := context.DeadlineExceeded, apierrors.NewConflict(pods, "a", errors.New("already assigned"))
	gone, forbidden := apierrors.NewNotFound(pods, "a"), apierrors.NewForbidden(pods, "a", errors.New("policy"))
	overloaded, late := apierrors.NewTooManyRequests("later", 1), apierrors.NewTimeoutError("too long", 0)
	for name, tc := range map[string]struct {
		binds   bool
		answers []error
		fails   error
		refused bool
		sent    int
	}{
		"bound before":               {true, []error{assigned}, nil, false, 1},
		"gone":                       {false, []error{gone}, gone, false, 1},
		"not allowed":                {false, []error{forbidden}, forbidden, true, 1},
		"overloaded":                 {false, []error{overloaded}, overloaded, false, 1},
		"another one was quicker":    {false, []error{assigned}, assigned, false, 1},
		"no answer, and then bound":  {true, []error{silence, silence, nil}, nil, false, 3},
		"no answer, but bound":       {true, []error{silence, assigned}, nil, false, 2},
		"no answer, and elsewhere":   {false, []error{silence, assigned}, assigned, false, 2},
		"no answer, and then gone":   {false, []error{silence, gone}, gone, false, 2},
		"took too long, and then it": {true, []error{late, assigned}, nil, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(tc.binds, tc.answers...)
			err := server.binder(open).Bind(t.Context(), decision(), attached)
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) {
				t.Errorf("Bind = %v, want %v", err, tc.fails)
			}
			if got := isRefusal(err); got != tc.refused {
				t.Errorf("isRefusal(%v) = %v, want %v", err, got, tc.refused)
			}
			if len(server.got) != tc.sent {
				t.Errorf("sent %d times, want %d", len(server.got), tc.sent)
			}
		})
	}
}

// TestUnknown checks that Bind reads the pod after an answer of 500 or 409, because the API server
// can send such an answer after it has stored the Binding.
func TestUnknown(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	broken, assigned := apierrors.NewInternalError(errors.New("etcd")), apierrors.NewConflict(pods, "a", errors.New("already assigned"))
	for name, tc := range map[string]struct {
		binds          bool
		answers, reads []error
		fails          error
		sent           int
	}{
		"500 after the write, and 500 to the read": {true, []error{broken, assigned}, []error{broken}, nil, 2},
		"409 after the write, and 429 to the read": {true, []error{assigned}, []error{apierrors.NewTooManyRequests("later", 1)}, nil, 2},
		"500 before the write":                     {false, []error{broken}, nil, broken, 1},
		"500 to all, and then not bound":           {false, []error{broken}, []error{broken, broken}, broken, 3},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(tc.binds, tc.answers...)
			server.reads = tc.reads
			err := server.binder(open).Bind(t.Context(), decision(), attached)
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) || len(server.got) != tc.sent {
				t.Errorf("Bind = %v after %d tries, want %v after %d", err, len(server.got), tc.fails, tc.sent)
			}
		})
	}
}

// TestDetach checks that Bind calls its argument `detach` once, after maxTries requests without a
// conclusive answer. The call tells the caller not to wait for the pod any longer. The test also
// checks that the delays between requests double, up to maxDelay.
func TestDetach(t *testing.T) {
	late := apierrors.NewTimeoutError("too long", 0)
	server := newServer(false, late, late, late, late, late, late, late, late, late, nil)
	var detached []int
	if err := server.binder(open).Bind(t.Context(), decision(), func() { detached = append(detached, len(server.got)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{maxTries}, detached); diff != "" {
		t.Errorf("tries before detach (-want +got):\n%s", diff)
	}
	ms := time.Millisecond
	if diff := cmp.Diff([]time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms}, server.waits); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

// TestBindSilence checks a Binding that gets no answer. After the first request, Bind must keep
// trying until the process is told to end. It must then wait until the last request can no longer
// take effect, and only then return. If BinderOptions.Fence returns errors for a while (the fence
// is closed), as in a process that was frozen, Bind must wait until Fence returns nil again. It must
// not return an error, because an error means that the pod is not bound, and the first request may
// have bound it.
func TestBindSilence(t *testing.T) {
	closed := errors.New("lease lost")
	for name, tc := range map[string]struct {
		answers []error
		fence   func(asked int, stop func()) error
		fails   error
		sent    int
		lasts   time.Duration // the length of Bind's last call of Sleep; 0 for no call
	}{
		"told to end":             {[]error{context.DeadlineExceeded}, func(asked int, stop func()) error { stop(); return nil }, context.DeadlineExceeded, 3, time.Second},
		"the lease is lost":       {[]error{context.DeadlineExceeded}, func(asked int, stop func()) error { return after(asked, 2, closed, stop) }, closed, 1, time.Second},
		"the fence opens again":   {[]error{context.DeadlineExceeded, nil}, func(asked int, _ func()) error { return between(asked, 2, 4, closed) }, nil, 2, 200 * time.Millisecond},
		"it is closed from start": {[]error{nil}, func(int, func()) error { return closed }, closed, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(false, tc.answers...)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			asked := 0
			err := server.binder(func() error { asked++; return tc.fence(asked, stop) }).Bind(ctx, decision(), attached)
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) || len(server.got) != tc.sent {
				t.Errorf("Bind = %v after %d tries, want %v after %d", err, len(server.got), tc.fails, tc.sent)
			}
			if last := append([]time.Duration{0}, server.waits...)[len(server.waits)]; last != tc.lasts {
				t.Errorf("the last wait takes %v, want %v", last, tc.lasts)
			}
		})
	}
}

// The function `after` returns the result of one call of BinderOptions.Fence. The parameter `asked`
// is the number of this call, counted from 1. From call n on, the function calls its parameter
// `stop` and returns err. For earlier calls it returns nil.
func after(asked, n int, err error, stop func()) error {
	if asked < n {
		return nil
	}
	stop()
	return err
}

// The function `between` returns the result of one call of BinderOptions.Fence. The parameter
// `asked` is the number of this call, counted from 1. For the calls from number `from` to number
// `until` - 1, the function returns err. For the other calls it returns nil.
func between(asked, from, until int, err error) error {
	if asked < from || asked >= until {
		return nil
	}
	return err
}

// TestLateBinding checks Binding requests that take effect late. This can happen to a request that
// got no answer. The answer to a later request then does not tell whether the earlier request will
// take effect. A request that was answered by a server error can take effect late, too. So Bind
// must wait and then read the pod, both after a server error and after an answer to a later
// request.
func TestLateBinding(t *testing.T) {
	pods, silence := schema.GroupResource{Resource: "pods"}, context.DeadlineExceeded
	proxy := func(code int) error { return apierrors.NewGenericServerResponse(code, "post", pods, "a", "", 0, true) }
	for name, answers := range map[string][]error{
		"none, 409": {silence, apierrors.NewConflict(pods, "a", errors.New("modified"))}, "none, 429": {silence, apierrors.NewTooManyRequests("later", 1)},
		"none, 500": {silence, apierrors.NewInternalError(errors.New("etcd"))}, "none, 403": {silence, apierrors.NewForbidden(pods, "a", errors.New("policy"))},
		"500": {apierrors.NewInternalError(errors.New("etcd"))}, "502 of a proxy": {proxy(502)}, "503 of a proxy": {proxy(503)},
	} {
		for _, binds := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, bound %v", name, binds), func(t *testing.T) {
				server := newServer(false, answers...)
				server.late = func() {
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"}}
					if binds {
						pod.Spec.NodeName = "n1"
					}
					if err := server.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, pod, "default"); err != nil {
						t.Error(err)
					}
				}
				if err := server.binder(open).Bind(t.Context(), decision(), attached); (err == nil) != binds || server.late != nil {
					t.Errorf("Bind = %v, and the pod is bound: %v", err, binds)
				}
			})
		}
	}
}

// TestSettle checks that Resolve finds out whether a pod is bound as decided. Resolve must first wait
// until no earlier request to bind the pod can take effect any more, and only then read the pod.
func TestSettle(t *testing.T) {
	broken := apierrors.NewInternalError(errors.New("etcd"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"}}
	bound, elsewhere, another := pod.DeepCopy(), pod.DeepCopy(), pod.DeepCopy()
	bound.Spec.NodeName, elsewhere.Spec.NodeName = "n1", "n2"
	another.UID, another.Spec.NodeName = "anew", "n1"
	for name, tc := range map[string]struct {
		pod   *corev1.Pod // the pod after the last request took effect; nil if it is gone
		reads []error
		bound bool
	}{
		"bound":                {pod: bound, bound: true},
		"bound, and 500 twice": {pod: bound, reads: []error{broken, broken}, bound: true},
		"not bound":            {pod: pod},
		"bound elsewhere":      {pod: elsewhere},
		"another one":          {pod: another},
		"gone":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(false, nil)
			server.reads = tc.reads
			pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
			server.late = func() {
				if err := server.Tracker().Delete(pods, "default", "a"); err != nil {
					t.Error(err)
				}
				if tc.pod != nil {
					if err := server.Tracker().Create(pods, tc.pod, "default"); err != nil {
						t.Error(err)
					}
				}
			}
			if err := server.binder(open).Resolve(t.Context(), decision()); (err == nil) != tc.bound || len(server.got) != 0 {
				t.Errorf("Resolve = %v, want bound: %v; Bindings: %v", err, tc.bound, server.got)
			}
			if len(server.reads) != 0 {
				t.Errorf("%d answers were not waited for", len(server.reads))
			}
		})
	}
}

// TestFence checks that no request is sent while the fence is closed.
func TestFence(t *testing.T) {
	server := newServer(true, nil)
	closed := errors.New("lease lost")
	if err := server.binder(func() error { return closed }).Bind(t.Context(), decision(), attached); !errors.Is(err, closed) {
		t.Errorf("Bind = %v, want the fence's error", err)
	}
	if len(server.Actions()) != 0 {
		t.Errorf("sent past the fence: %v", server.Actions())
	}
}

// TestStoppedAfterFence checks a process that is stopped for a minute after Bind has checked the
// fence. Another replica may bind pods then, so the deadline of the request must be over.
func TestStoppedAfterFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		closed, asked, sent := errors.New("lease lost"), 0, 0
		b := NewBinder(BinderOptions{
			CreateBinding: func(ctx context.Context, _ *corev1.Binding) error {
				if ctx.Err() == nil {
					sent++
				}
				return ctx.Err()
			},
			Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Timeout: time.Second,
			Fence: func() error {
				if asked++; asked > 1 {
					cancel()
					return closed
				}
				time.Sleep(time.Minute)
				return nil
			},
		})
		if err := b.Bind(ctx, decision(), attached); !errors.Is(err, closed) || sent != 0 {
			t.Errorf("Bind = %v, and %d requests are sent, want none", err, sent)
		}
	})
}

// TestBegunIsFinished checks that Bind still sends the Binding if ctx is canceled after Bind has
// checked the fence.
func TestBegunIsFinished(t *testing.T) {
	server := newServer(true, nil)
	ctx, cancel := context.WithCancel(t.Context())
	b := server.binder(func() error { cancel(); return nil })
	if err := b.Bind(ctx, decision(), attached); err != nil {
		t.Errorf("Bind = %v", err)
	}
}

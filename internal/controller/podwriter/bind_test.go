package podwriter

import (
	"context"
	"errors"
	"testing"
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

// server is an API server that gives the answers one after another, and repeats the last
// one. An answer may also bind the pod.
type server struct {
	*fake.Clientset
	answers []error // to Bindings
	reads   []error // answers to the first reads of the pod
	binds   bool
	got     []*corev1.Binding
	waits   []time.Duration // between tries
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
		Sleep: func(d time.Duration) { s.waits = append(s.waits, d) },
	})
}

func open() error { return nil }

func attached() {} // for binds that need not be detached

func TestOneWrite(t *testing.T) {
	s := newServer(true, nil)
	d := decision(podspec.Container{Name: "main", PerNode: map[topology.NodeID]int{0: 2, 8: 1}})
	if err := s.binder(open).Bind(t.Context(), d, attached); err != nil {
		t.Fatal(err)
	}
	want := []*corev1.Binding{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "a", UID: "uid-a",
			Annotations: map[string]string{"numalet.dev/placement": `{"version":1,"containers":{"main":{"cpus":{"0":2,"8":1}}}}`},
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}}
	if diff := cmp.Diff(want, s.got); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	if n := len(s.Actions()); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}

func TestPlainPodCarriesNoPlacement(t *testing.T) {
	s := newServer(true, nil)
	if err := s.binder(open).Bind(t.Context(), decision(), attached); err != nil || s.got[0].Annotations != nil {
		t.Errorf("Bind = %v with annotations %v, want none", err, s.got[0].Annotations)
	}
}

// TestAnswers checks that Bind returns an error exactly if the pod is not bound as decided,
// however the API server answers.
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
			s := newServer(tc.binds, tc.answers...)
			err := s.binder(open).Bind(t.Context(), decision(), attached)
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) {
				t.Errorf("Bind = %v, want %v", err, tc.fails)
			}
			if got := isRefusal(err); got != tc.refused {
				t.Errorf("isRefusal(%v) = %v, want %v", err, got, tc.refused)
			}
			if len(s.got) != tc.sent {
				t.Errorf("sent %d times, want %d", len(s.got), tc.sent)
			}
		})
	}
}

// TestUnknown checks that an answer to the Binding counts only once the pod was read: the
// API server can answer 500 or 409 after the write.
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
			s := newServer(tc.binds, tc.answers...)
			s.reads = tc.reads
			err := s.binder(open).Bind(t.Context(), decision(), attached)
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) || len(s.got) != tc.sent {
				t.Errorf("Bind = %v after %d tries, want %v after %d", err, len(s.got), tc.fails, tc.sent)
			}
		})
	}
}

// TestDetach checks that a bind without a conclusive answer is detached, and is tried ever
// more rarely.
func TestDetach(t *testing.T) {
	late := apierrors.NewTimeoutError("too long", 0)
	s := newServer(false, late, late, late, late, late, late, late, late, late, nil)
	var detached []int
	if err := s.binder(open).Bind(t.Context(), decision(), func() { detached = append(detached, len(s.got)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{maxTries}, detached); diff != "" {
		t.Errorf("tries before detach (-want +got):\n%s", diff)
	}
	ms := time.Millisecond
	if diff := cmp.Diff([]time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms}, s.waits); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

// TestSilence checks that a Binding without an answer is given up only when the fence
// closes or the process ends.
func TestBindSilence(t *testing.T) {
	closed := errors.New("lease lost")
	for name, end := range map[string]func(context.CancelFunc) error{
		"no lease":    func(context.CancelFunc) error { return closed },
		"told to end": func(stop context.CancelFunc) error { stop(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(false, context.DeadlineExceeded)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			err := s.binder(func() error {
				if len(s.got) < 2 {
					return nil
				}
				return end(stop)
			}).Bind(ctx, decision(), attached)
			if !errors.Is(err, context.DeadlineExceeded) || len(s.got) < 2 || len(s.got) > maxTries {
				t.Errorf("Bind = %v after %d tries", err, len(s.got))
			}
		})
	}
}

// TestFence checks that the fence is checked after the rate limit, and that nothing is sent
// once it is closed.
func TestFence(t *testing.T) {
	s := newServer(true, nil)
	closed := errors.New("lease lost")
	if err := s.binder(func() error { return closed }).Bind(t.Context(), decision(), attached); !errors.Is(err, closed) {
		t.Errorf("Bind = %v, want the fence's error", err)
	}
	if len(s.Actions()) != 0 {
		t.Errorf("sent past the fence: %v", s.Actions())
	}
}

// TestBegunIsFinished checks that a Binding in flight is finished after its context ends.
func TestBegunIsFinished(t *testing.T) {
	s := newServer(true, nil)
	ctx, cancel := context.WithCancel(t.Context())
	b := s.binder(func() error { cancel(); return nil })
	if err := b.Bind(ctx, decision(), attached); err != nil {
		t.Errorf("Bind = %v", err)
	}
}

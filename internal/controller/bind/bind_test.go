package bind

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

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

func decision(containers ...sched.ContainerCPUs) sched.Decision {
	return sched.Decision{
		Pod: &sched.Pod{Namespace: "default", Name: "a", UID: "uid-a"},
		At:  sched.Placement{Node: "n1", Containers: containers},
	}
}

// server is an API server that gives the answers one after another, and repeats the last
// one. An answer may also bind the pod.
type server struct {
	*fake.Clientset
	answers []error
	binds   bool
	got     []*corev1.Binding
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
	return s
}

func (s *server) binder(fence func() error) *Binder {
	create := func(ctx context.Context, b *corev1.Binding) error {
		return s.CoreV1().Pods(b.Namespace).Bind(ctx, b, metav1.CreateOptions{})
	}
	return New(Options{CreateBinding: create, Client: s, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: fence, Timeout: time.Second})
}

func open() error { return nil }

func TestOneWrite(t *testing.T) {
	s := newServer(true, nil)
	d := decision(sched.ContainerCPUs{Container: "main", PerNode: map[topology.NodeID]int{0: 2, 8: 1}})
	if err := s.binder(open).Bind(t.Context(), d); err != nil {
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
	if err := s.binder(open).Bind(t.Context(), decision()); err != nil || s.got[0].Annotations != nil {
		t.Errorf("Bind = %v with annotations %v, want none", err, s.got[0].Annotations)
	}
}

// TestAnswers checks that Bind returns an error exactly if the pod is not bound as decided,
// however the API server answers.
func TestAnswers(t *testing.T) {
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
			err := s.binder(open).Bind(t.Context(), decision())
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) {
				t.Errorf("Bind = %v, want %v", err, tc.fails)
			}
			if got := IsRefusal(err); got != tc.refused {
				t.Errorf("IsRefusal(%v) = %v, want %v", err, got, tc.refused)
			}
			if len(s.got) != tc.sent {
				t.Errorf("sent %d times, want %d", len(s.got), tc.sent)
			}
		})
	}
}

// TestSilence checks that a Binding without an answer is given up only when the fence
// closes or the process ends.
func TestSilence(t *testing.T) {
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
			}).Bind(ctx, decision())
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
	if err := s.binder(func() error { return closed }).Bind(t.Context(), decision()); !errors.Is(err, closed) {
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
	if err := b.Bind(ctx, decision()); err != nil {
		t.Errorf("Bind = %v", err)
	}
}

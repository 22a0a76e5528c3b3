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

// server is an API server that answers binds so; it binds them itself if it does.
type server struct {
	*fake.Clientset
	answer error
	binds  bool
	got    []*corev1.Binding
}

func newServer(answer error, binds bool) *server {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"}}
	s := &server{Clientset: fake.NewClientset(pod), answer: answer, binds: binds}
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
		return true, nil, s.answer
	})
	return s
}

func (s *server) binder(fence func() error) *Binder {
	return New(Options{Client: s, Limit: flowcontrol.NewFakeAlwaysRateLimiter(), Fence: fence, Timeout: time.Second})
}

func open() error { return nil }

func TestOneWrite(t *testing.T) {
	s := newServer(nil, true)
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
	s := newServer(nil, true)
	if err := s.binder(open).Bind(t.Context(), decision()); err != nil || s.got[0].Annotations != nil {
		t.Errorf("Bind = %v with annotations %v, want none", err, s.got[0].Annotations)
	}
}

// TestAnswers: the error says whether the pod is bound there, and not how well
// the API server could be understood.
func TestAnswers(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		answer  error
		binds   bool
		fails   bool
		refused bool
	}{
		"no answer, not bound":    {context.DeadlineExceeded, false, true, false},
		"no answer, but bound":    {context.DeadlineExceeded, true, false, false},
		"bound before":            {apierrors.NewConflict(pods, "a", errors.New("already assigned")), true, false, false},
		"gone":                    {apierrors.NewNotFound(pods, "a"), false, true, false},
		"not allowed":             {apierrors.NewForbidden(pods, "a", errors.New("policy")), false, true, true},
		"overloaded":              {apierrors.NewTooManyRequests("later", 1), false, true, false},
		"another one was quicker": {apierrors.NewConflict(pods, "a", errors.New("already assigned")), false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := newServer(tc.answer, tc.binds).binder(open).Bind(t.Context(), decision())
			if (err != nil) != tc.fails || tc.fails && !errors.Is(err, tc.answer) {
				t.Errorf("Bind = %v, want an error: %v", err, tc.fails)
			}
			if got := IsRefusal(err); got != tc.refused {
				t.Errorf("IsRefusal(%v) = %v, want %v", err, got, tc.refused)
			}
		})
	}
}

// TestFence: the fence is asked after the turn has come, and nothing is sent
// past it.
func TestFence(t *testing.T) {
	s := newServer(nil, true)
	closed := errors.New("lease lost")
	if err := s.binder(func() error { return closed }).Bind(t.Context(), decision()); !errors.Is(err, closed) {
		t.Errorf("Bind = %v, want the fence's error", err)
	}
	if len(s.Actions()) != 0 {
		t.Errorf("sent past the fence: %v", s.Actions())
	}
}

// TestBegunIsFinished: a bind that has begun does not end with its context.
func TestBegunIsFinished(t *testing.T) {
	s := newServer(nil, true)
	ctx, cancel := context.WithCancel(t.Context())
	b := s.binder(func() error { cancel(); return nil })
	if err := b.Bind(ctx, decision()); err != nil {
		t.Errorf("Bind = %v", err)
	}
}

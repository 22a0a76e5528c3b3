package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/kube"
	"github.com/numalet/numalet/internal/nri"
)

// unsupported is a runtime that the plugin refused.
type unsupported struct{}

func (unsupported) Run(context.Context) error { return nri.ErrUnsupported }
func (unsupported) Ready() error              { return nri.ErrUnsupported }

// TestUnsupportedRuntime: the agent lives on, and no pod that asks is sent to
// its node any more.
func TestUnsupportedRuntime(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1alpha1.LabelExclusiveCPUs: "true"}}})
	pods, err := kube.NewPods(client, "n", kube.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{log: testr.New(t), client: client, pods: pods, runtime: unsupported{}, refused: make(chan struct{})}
	a.cfg.NodeName, a.cfg.ExclusiveCPUs = "n", true
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for _, part := range []func(context.Context) error{a.pods.Run, a.serveRuntime} {
		go func() { ended <- part(ctx) }()
	}
	if err := a.mark(ctx); err != nil {
		t.Fatal(err)
	}
	node, err := client.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	if err != nil || node.Labels[v1alpha1.LabelExclusiveCPUs] != "" {
		t.Errorf("labels %v, %v; want none", node.Labels, err)
	}
	select {
	case err := <-ended:
		t.Errorf("the agent ended: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Errorf("told to end: %v", err)
	}
}

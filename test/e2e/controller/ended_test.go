//go:build e2e

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

// TestEnded checks that a pod that has ended holds no resources, although its object still exists.
func TestEnded(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8})
	w.create(ours("first", "8", "single"))
	w.await("the first is bound", func() bool { return w.pod("first").Spec.NodeName != "" })
	w.create(ours("second", "8", "single"))
	w.await("the second waits", func() bool { return w.event("second", "FailedScheduling") != "" })
	first := w.pod("first")
	first.Status.Phase = corev1.PodSucceeded
	_, err := w.api.CoreV1().Pods("default").UpdateStatus(w.ctx, first, metav1.UpdateOptions{})
	w.must(err)
	w.await("the second is bound", func() bool { return w.pod("second").Spec.NodeName != "" })
}

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

func podName(i int) string { return fmt.Sprintf("pod-%05d", i) }

// make creates n pods, numbered from from on.
func (f *field) make(ctx context.Context, l load, scheduler string, from, n int) error {
	if scheduler == "" {
		scheduler = "nobody"
	}
	return f.plane.MakePods(ctx, namespace, n, func(i int) *corev1.Pod { return l.pod(podName(from+i), scheduler) })
}

// steady creates pods at a fixed rate, and returns for each the time from its creation, as
// the API server confirmed it, to its binding.
func (f *field) steady(ctx context.Context, c contender, l load, binds *hollowcluster.Binds) ([]time.Duration, error) {
	made := map[string]time.Time{}
	next := time.NewTicker(f.Pace)
	defer next.Stop()
	for i := range f.Steady {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-next.C:
		}
		pod := l.pod(podName(f.Pods+i), c.scheduler)
		if _, err := f.api.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		made[pod.Name] = time.Now()
	}
	if err := binds.Await(ctx, f.Pods+f.Steady, stallTimeout); err != nil {
		return nil, err
	}
	waited := make([]time.Duration, 0, len(made))
	for name, at := range binds.At() {
		if began, ok := made[name]; ok {
			waited = append(waited, max(0, at.Sub(began)))
		}
	}
	return waited, nil
}

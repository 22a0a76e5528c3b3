package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/hollowcluster"
)

func podName(i int) string { return fmt.Sprintf("pod-%05d", i) }

// make creates the pods of the backlog: the pods that wait when the contender (the scheduler or
// client whose speed is measured) begins to bind pods.
func (f *field) make(ctx context.Context, l load, scheduler string) error {
	if scheduler == "" {
		scheduler = "nobody"
	}
	return f.plane.MakePods(ctx, namespace, f.Pods, func(i int) *corev1.Pod { return l.pod(i, scheduler) })
}

// await waits until n pods are bound, but no longer than the duration given as `limit`. If fewer
// pods are bound at the end of this time, the result `stopped` is true.
func (f *field) await(ctx context.Context, binds *hollowcluster.Binds, n int, limit time.Duration) (stopped bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = binds.Await(limited, n, limit)
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// freshLimit limits how long the method `steady` waits until the pods that it has created are
// bound. If a pod is not bound after this time, `steady` returns how long the pod has waited so
// far.
const freshLimit = 30 * time.Second

// steady creates pods one by one at a fixed rate. For each pod it returns the time from the API
// server's response to the pod's creation until the pod was seen bound.
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
		pod := l.pod(f.Pods+i, c.scheduler)
		if _, err := f.api.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		made[pod.Name] = time.Now()
	}
	if _, err := f.await(ctx, binds, f.Pods+f.Steady, freshLimit); err != nil {
		return nil, err
	}
	waited, end, bound := make([]time.Duration, 0, len(made)), time.Now(), binds.At()
	for name, began := range made {
		at, ok := bound[name]
		if !ok {
			at = end
		}
		waited = append(waited, max(0, at.Sub(began)))
	}
	return waited, nil
}

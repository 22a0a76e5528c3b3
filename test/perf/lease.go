package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// lease is the leader election Lease of a scheduler. While this program holds the Lease, the
// scheduler does not begin to bind pods.
type lease struct {
	api             kubernetes.Interface
	namespace, name string
}

// hold deletes the Lease if it exists, and creates it with this program as the holder for an hour.
func (l lease) hold(ctx context.Context) error {
	leases := l.api.CoordinationV1().Leases(l.namespace)
	if err := leases.Delete(ctx, l.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("hold lease %s: %w", l.name, err)
	}
	holder, hour, now := "perf", int32(3600), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &hour, AcquireTime: &now, RenewTime: &now}
	_, err := leases.Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// release gives up the Lease, and waits until another process has acquired it. It returns the time
// when it found that the Lease was acquired.
func (l lease) release(ctx context.Context) (time.Time, error) {
	leases := l.api.CoordinationV1().Leases(l.namespace)
	lease, err := leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	nobody, second := "", int32(1)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &nobody, &second
	if lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return time.Time{}, fmt.Errorf("give up lease %s: %w", l.name, err)
	}
	changes, err := leases.Watch(ctx, metav1.SingleObject(lease.ObjectMeta))
	if err != nil {
		return time.Time{}, err
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if now, ok := change.Object.(*coordinationv1.Lease); ok && now.Spec.HolderIdentity != nil && *now.Spec.HolderIdentity != "" {
			return time.Now(), nil
		}
	}
	return time.Time{}, fmt.Errorf("lease %s was taken by nobody", l.name)
}

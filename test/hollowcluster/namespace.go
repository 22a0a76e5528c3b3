package hollowcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func makeNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}

// Clear deletes the pods and events of a namespace. The grace period is 0, so the API server removes
// the pods at once and does not wait for a kubelet.
func (p *Plane) Clear(ctx context.Context, namespace string) error {
	client, err := p.API()
	if err != nil {
		return err
	}
	if err := removeAll(ctx, client.CoreV1().Pods(namespace)); err != nil {
		return fmt.Errorf("remove pods of %s: %w", namespace, err)
	}
	if err := removeAll(ctx, client.CoreV1().Events(namespace)); err != nil {
		return fmt.Errorf("remove events of %s: %w", namespace, err)
	}
	return nil
}

type collection interface {
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
}

// removeAll deletes all objects of a collection. A slow API server aborts the request after its
// timeout of a minute. removeAll then sends the request again.
func removeAll(ctx context.Context, c collection) error {
	for {
		err := c.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{})
		if !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
			return err
		}
	}
}

func parse(text string) resource.Quantity { return resource.MustParse(text) }

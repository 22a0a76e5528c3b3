package mirror

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Namespaces reads the names of tenants from the labels of Namespaces. It has its own informer, so
// that all Namespaces are listed before pods are listed. This order matters because a bound pod
// keeps the tenant with which it was first seen.
type Namespaces struct{ informer cache.SharedIndexInformer }

// NewNamespaces returns Namespaces. They are empty until Run is called.
func NewNamespaces(client kubernetes.Interface) (*Namespaces, error) {
	informer := coreinformers.NewNamespaceInformer(client, 0, cache.Indexers{})
	if err := informer.SetTransform(Trim); err != nil {
		return nil, fmt.Errorf("watch namespaces: %w", err)
	}
	return &Namespaces{informer}, nil
}

// Watch makes a mirror update the tenants of pending pods whenever the tenant label of a Namespace
// changes.
func (n *Namespaces) Watch(m *Mirror) error {
	changed := func(namespace *corev1.Namespace) { m.RequeueNamespace(namespace.Name) }
	handler := handle(changed, changed, func(a, b *corev1.Namespace) bool { return tenantLabel(a) == tenantLabel(b) })
	if _, err := n.informer.AddEventHandler(Contain(handler, m.env.Panicked)); err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	return nil
}

// Run watches the Namespaces until ctx is done.
func (n *Namespaces) Run(ctx context.Context) { n.informer.RunWithContext(ctx) }

// HasSynced reports whether the initial list of Namespaces is complete.
func (n *Namespaces) HasSynced() bool { return n.informer.HasSynced() }

// Tenant returns the tenant in the label of a Namespace, or "".
func (n *Namespaces) Tenant(name string) string {
	object, found, err := n.informer.GetStore().GetByKey(name)
	if err != nil || !found {
		return ""
	}
	return tenantLabel(object.(*corev1.Namespace))
}

func tenantLabel(n *corev1.Namespace) string { return n.Labels[v1alpha1.LabelTenant] }

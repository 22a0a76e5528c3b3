package bind

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// Options are how binds are written.
type Options struct {
	Client  kubernetes.Interface       // for nothing else, and without a limit of its own
	Limit   flowcontrol.RateLimiter    // of binds, waited for before the fence is asked
	Fence   func() error               // says why this process may not bind now
	Timeout time.Duration              // of one bind, from the fence's answer on
	Observe func(time.Duration, error) // one request; nil for nobody
}

// Binder writes Bindings. It may be used concurrently.
type Binder struct{ options Options }

// New returns a binder.
func New(o Options) *Binder {
	if o.Observe == nil {
		o.Observe = func(time.Duration, error) {}
	}
	return &Binder{o}
}

// Bind binds a pod as decided. Where it returns an error the pod is not bound
// there, as far as anybody can tell: an answer that says nothing is followed by a
// look at the pod. Once it waited its turn it ends within two Timeouts, whatever
// becomes of ctx: what has begun is finished.
func (b *Binder) Bind(ctx context.Context, d sched.Decision) error {
	binding, err := binding(d)
	if err != nil {
		return err
	}
	if err := b.options.Limit.Wait(ctx); err != nil {
		return fmt.Errorf("bind pod %s to node %q: wait for its turn: %w", d.Pod, d.At.Node, err)
	}
	if err := b.options.Fence(); err != nil {
		return fmt.Errorf("bind pod %s to node %q: %w", d.Pod, d.At.Node, err)
	}
	err = b.post(ctx, binding)
	if err == nil || !apierrors.IsNotFound(err) && b.isBound(ctx, d) {
		return nil
	}
	return fmt.Errorf("bind pod %s to node %q: %w", d.Pod, d.At.Node, err)
}

// IsRefusal reports whether an error of Bind says that the API server has heard
// and refused: the pod exists and is bound to no node.
func IsRefusal(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.Status().Code
	return code >= 400 && code < 500 && code != http.StatusNotFound && code != http.StatusConflict && code != http.StatusTooManyRequests
}

func (b *Binder) post(ctx context.Context, binding *corev1.Binding) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	began := time.Now()
	err := b.options.Client.CoreV1().Pods(binding.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	b.options.Observe(time.Since(began), err)
	return err
}

// isBound reports whether the pod is known to be where it should be after all.
func (b *Binder) isBound(ctx context.Context, d sched.Decision) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	pod, err := b.options.Client.CoreV1().Pods(d.Pod.Namespace).Get(ctx, d.Pod.Name, metav1.GetOptions{})
	return err == nil && string(pod.UID) == d.Pod.UID && pod.Spec.NodeName == d.At.Node
}

// binding returns the one write. The API server checks the UID, and merges the
// annotations into the pod.
func binding(d sched.Decision) (*corev1.Binding, error) {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Pod.Namespace, Name: d.Pod.Name, UID: types.UID(d.Pod.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: d.At.Node},
	}
	if len(d.At.Containers) == 0 {
		return b, nil
	}
	text, err := v1alpha1.FormatPlacement(containers(d.At.Containers))
	if err != nil {
		return nil, fmt.Errorf("bind pod %s to node %q: %w", d.Pod, d.At.Node, err)
	}
	b.Annotations = map[string]string{v1alpha1.AnnotationPlacement: text}
	return b, nil
}

func containers(at []sched.ContainerCPUs) map[string]v1alpha1.ContainerPlacement {
	all := make(map[string]v1alpha1.ContainerPlacement, len(at))
	for _, c := range at {
		counts := make(map[int]int, len(c.PerNode))
		for id, cpus := range c.PerNode {
			counts[int(id)] = cpus
		}
		all[c.Container] = v1alpha1.ContainerPlacement{CPUs: counts}
	}
	return all
}

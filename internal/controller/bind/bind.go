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
	Post    func(context.Context, *corev1.Binding) error // sends one, without a limit of its own; an APIStatus is the answer that it is not made
	Client  kubernetes.Interface                         // looks where a pod is
	Limit   flowcontrol.RateLimiter                      // of binds, waited for before the fence is asked
	Fence   func() error                                 // says why this process may not bind now
	Timeout time.Duration                                // of one request, from the fence's answer on
	Observe func(time.Duration, error)                   // one request; nil for nobody
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

// tries is how often a bind is sent that is not answered, once ctx has ended.
const tries = 3

// pause is between two of them.
const pause = 50 * time.Millisecond

// Bind binds a pod as decided. Where it returns an error the pod is not bound
// there. What is not answered may be done all the same, and later: a look at the
// pod says nothing about that, so the same is sent again until it is answered.
// Once it waited its turn it ends when it knows, or may not bind any more, or ctx
// has ended and it has tried several times; it does not leave off for ctx alone.
func (b *Binder) Bind(ctx context.Context, d sched.Decision) error {
	binding, err := binding(d)
	if err != nil {
		return err
	}
	if err := b.options.Limit.Wait(ctx); err != nil {
		return fmt.Errorf("bind pod %s to node %q: wait for its turn: %w", d.Pod, d.At.Node, err)
	}
	for try := 1; ; try++ {
		if closed := b.options.Fence(); closed != nil {
			return fmt.Errorf("bind pod %s to node %q: %w", d.Pod, d.At.Node, errors.Join(closed, err))
		}
		if err = b.send(ctx, d, binding); err == nil {
			return nil
		}
		if answered(err) || ctx.Err() != nil && try >= tries {
			return fmt.Errorf("bind pod %s to node %q: %w", d.Pod, d.At.Node, err)
		}
		time.Sleep(pause)
	}
}

// send sends a bind once. An answer that does not say where the pod is makes it
// look, and then a look without an answer is none either.
func (b *Binder) send(ctx context.Context, d sched.Decision, binding *corev1.Binding) error {
	err := b.post(ctx, binding)
	if err == nil || apierrors.IsNotFound(err) || !answered(err) {
		return err
	}
	bound, lookErr := b.isBound(ctx, d)
	switch {
	case bound || apierrors.IsNotFound(lookErr):
		return lookErr
	case lookErr != nil && !answered(lookErr):
		return lookErr
	}
	return err
}

// answered reports whether an error is what the API server has made of the
// request. One that took it too long may have come to its end.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
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
	err := b.options.Post(ctx, binding)
	b.options.Observe(time.Since(began), err)
	return err
}

// isBound reports whether the pod is where it should be after all.
func (b *Binder) isBound(ctx context.Context, d sched.Decision) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	pod, err := b.options.Client.CoreV1().Pods(d.Pod.Namespace).Get(ctx, d.Pod.Name, metav1.GetOptions{})
	return err == nil && string(pod.UID) == d.Pod.UID && pod.Spec.NodeName == d.At.Node, err
}

// binding returns the one write. The API server checks the UID, and merges the
// annotations into the pod.
func binding(d sched.Decision) (*corev1.Binding, error) {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Pod.Namespace, Name: d.Pod.Name, UID: types.UID(d.Pod.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: d.At.Node},
	}
	all := containers(d)
	if len(all) == 0 {
		return b, nil
	}
	text, err := v1alpha1.FormatPlacement(all)
	if err != nil {
		return nil, fmt.Errorf("bind pod %s to node %q: %w", d.Pod, d.At.Node, err)
	}
	b.Annotations = map[string]string{v1alpha1.AnnotationPlacement: text}
	if d.At.GPUGroup != "" {
		b.Annotations[v1alpha1.AnnotationGPUGroup] = d.At.GPUGroup
	}
	return b, nil
}

func containers(d sched.Decision) map[string]v1alpha1.ContainerPlacement {
	all := make(map[string]v1alpha1.ContainerPlacement, len(d.At.Containers))
	for _, c := range d.At.Containers {
		counts := make(map[int]int, len(c.PerNode))
		for id, cpus := range c.PerNode {
			counts[int(id)] = cpus
		}
		all[c.Container] = v1alpha1.ContainerPlacement{CPUs: counts}
	}
	for name, ids := range d.Pod.GPUs.Split(d.At.GPUs) {
		if len(ids) > 0 {
			all[name] = v1alpha1.ContainerPlacement{CPUs: all[name].CPUs, GPUs: ids}
		}
	}
	return all
}

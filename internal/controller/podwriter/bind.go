package podwriter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// BinderOptions are how Bindings are created.
type BinderOptions struct {
	// CreateBinding sends one Binding, without a rate limit. An error that is an APIStatus
	// is the API server's answer that the pod was not bound.
	CreateBinding func(context.Context, *corev1.Binding) error
	Client        kubernetes.Interface    // reads pods
	Limit         flowcontrol.RateLimiter // of Bindings; waited for before the fence is checked
	Fence         func() error            // why this process must not bind now
	Timeout       time.Duration           // of one request, from the fence's answer on
	Durations     prometheus.ObserverVec  // of requests in seconds, by result: bound or error; may be nil
	Sleep         func(time.Duration)     // waits between two tries; nil means time.Sleep
}

// Binder binds pods. It may be used concurrently.
type Binder struct{ options BinderOptions }

// NewBinder returns a binder.
func NewBinder(o BinderOptions) *Binder {
	if o.Sleep == nil {
		o.Sleep = time.Sleep
	}
	return &Binder{o}
}

const (
	// maxTries is how often a Binding without a conclusive answer is sent before its bind is
	// detached, and how often it is sent at most once ctx has ended.
	maxTries = 3
	// minDelay and maxDelay bound the time between two tries, which doubles.
	minDelay, maxDelay = 50 * time.Millisecond, 5 * time.Second
)

// Bind binds a pod as decided. If Bind returns an error, the pod is not bound to that node.
//
// A request without an answer may still take effect, even later, so reading the pod
// proves nothing: Bind sends the same Binding again until it is answered. After the rate
// limit it returns only when the outcome is known, when the fence closed before the first request,
// or when ctx has ended and maxTries requests were sent or the fence is closed; it does not stop for
// ctx alone. Before it returns without knowing the outcome, it waits until no request can take
// effect, because the lease is released afterwards. After maxTries it calls detach, because the
// answer may never come, for example where a webhook of one namespace does not answer.
//
// While the fence is closed, the pod keeps its resources: a process that was frozen may lead again
// afterwards.
func (b *Binder) Bind(ctx context.Context, decision sched.Decision, detach func()) error {
	binding, err := newBinding(decision)
	if err != nil {
		return err
	}
	if err := b.options.Limit.Wait(ctx); err != nil {
		return fmt.Errorf("bind pod %s to node %q: wait for the rate limit: %w", decision.Pod, decision.At.Node, err)
	}
	delay, unanswered := minDelay, false
	for try := 1; ; try++ {
		closed := b.options.Fence()
		if closed == nil {
			err = b.try(ctx, decision, binding)
		}
		switch {
		case closed == nil && err == nil:
			return nil
		case closed == nil && isAnswer(err) && (unanswered || isServerError(err)) && !apierrors.IsNotFound(err):
			// It answers this request. An earlier one may still take effect, and this one after a server error.
			detach()
			if b.Resolve(ctx, decision) == nil {
				return nil
			}
			return fmt.Errorf("bind pod %s to node %q: %w", decision.Pod, decision.At.Node, err)
		case closed != nil && err == nil, closed == nil && isAnswer(err): // nothing was sent, or it was answered
			return fmt.Errorf("bind pod %s to node %q: %w", decision.Pod, decision.At.Node, errors.Join(closed, err))
		case ctx.Err() != nil && (closed != nil || try >= maxTries):
			b.options.Sleep(b.options.Timeout)
			return fmt.Errorf("bind pod %s to node %q: %w", decision.Pod, decision.At.Node, errors.Join(closed, err))
		case try == maxTries:
			logr.FromContextOrDiscard(ctx).Error(err, "a Binding has no certain outcome yet; it is sent again until it has", "pod", decision.Pod.String(), "node", decision.At.Node)
			detach()
		}
		unanswered = true
		b.options.Sleep(delay)
		delay = min(2*delay, maxDelay)
	}
}

// Resolve returns nil if a pod is bound as decided, and an error if it is not. It waits until no
// request that was sent before can take effect, and then reads the pod until the API server
// answers. Once ctx has ended, it gives up after maxTries.
func (b *Binder) Resolve(ctx context.Context, decision sched.Decision) error {
	b.options.Sleep(b.options.Timeout)
	delay := minDelay
	for try := 1; ; try++ {
		bound, err := b.isBound(ctx, decision)
		switch {
		case bound:
			return nil
		case err == nil:
			return fmt.Errorf("pod %s is not bound to node %q", decision.Pod, decision.At.Node)
		case apierrors.IsNotFound(err), ctx.Err() != nil && try >= maxTries:
			return fmt.Errorf("read whether pod %s is bound to node %q: %w", decision.Pod, decision.At.Node, err)
		}
		b.options.Sleep(delay)
		delay = min(2*delay, maxDelay)
	}
}

// try sends a Binding once. An error other than "not found" does not tell whether the pod is bound:
// the API server can answer 409 or 500 after it has written the Binding. So try then reads the pod.
// The outcome is unknown until a read returns the pod.
func (b *Binder) try(ctx context.Context, decision sched.Decision, binding *corev1.Binding) error {
	err := b.create(ctx, binding)
	if err == nil || apierrors.IsNotFound(err) || !isAnswer(err) {
		return err
	}
	bound, readErr := b.isBound(ctx, decision)
	switch {
	case bound || apierrors.IsNotFound(readErr):
		return readErr
	case readErr != nil:
		return fmt.Errorf("%w: %v; reading the pod: %v", errUnknown, err, readErr)
	}
	return err
}

// errUnknown has earlier answers only in its text, and does not wrap them, because they do not
// answer the Binding.
var errUnknown = errors.New("the outcome is unknown")

// isAnswer reports whether an error is the API server's final answer to a request. A
// request that timed out in the API server may have taken effect.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}

// isServerError reports whether an error is an answer that does not tell what becomes of the request: the
// API server, or a proxy before it, may have lost the connection on which it had sent the request on.
func isServerError(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 500
}

// isRefusal reports whether an error of Bind says that the API server refused the
// Binding: the pod exists and is bound to no node.
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.Status().Code
	return code >= 400 && code < 500 && code != http.StatusNotFound && code != http.StatusConflict && code != http.StatusTooManyRequests
}

func (b *Binder) create(ctx context.Context, binding *corev1.Binding) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	began := time.Now()
	err := b.options.CreateBinding(ctx, binding)
	b.observe(time.Since(began), err)
	return err
}

func (b *Binder) observe(took time.Duration, err error) {
	if b.options.Durations == nil {
		return
	}
	result := "bound"
	if err != nil {
		result = "error"
	}
	b.options.Durations.WithLabelValues(result).Observe(took.Seconds())
}

// isBound reads a pod and reports whether it is bound as decided.
func (b *Binder) isBound(ctx context.Context, decision sched.Decision) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	pod, err := b.options.Client.CoreV1().Pods(decision.Pod.Namespace).Get(ctx, decision.Pod.Name, metav1.GetOptions{})
	return err == nil && string(pod.UID) == decision.Pod.UID && pod.Spec.NodeName == decision.At.Node, err
}

// newBinding returns the Binding of a decision. The API server checks the UID, and merges
// the annotations into the pod.
func newBinding(decision sched.Decision) (*corev1.Binding, error) {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: decision.Pod.Namespace, Name: decision.Pod.Name, UID: types.UID(decision.Pod.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: decision.At.Node},
	}
	all := placements(decision)
	if len(all) == 0 {
		return b, nil
	}
	text, err := v1alpha1.FormatPlacement(all)
	if err != nil {
		return nil, fmt.Errorf("bind pod %s to node %q: %w", decision.Pod, decision.At.Node, err)
	}
	b.Annotations = map[string]string{v1alpha1.AnnotationPlacement: text}
	if decision.At.GPUGroup != "" {
		b.Annotations[v1alpha1.AnnotationGPUGroup] = decision.At.GPUGroup
	}
	return b, nil
}

// placements returns the CPUs per NUMA node and the GPUs of each container that has any.
func placements(decision sched.Decision) map[string]v1alpha1.ContainerPlacement {
	all := make(map[string]v1alpha1.ContainerPlacement, len(decision.At.Containers))
	for _, container := range decision.At.Containers {
		all[container.Name] = v1alpha1.ContainerPlacement{CPUs: container.PerNode}
	}
	for name, ids := range decision.Pod.GPUs.Split(decision.At.GPUs) {
		if len(ids) > 0 {
			all[name] = v1alpha1.ContainerPlacement{CPUs: all[name].CPUs, GPUs: ids}
		}
	}
	return all
}

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

// BinderOptions are the options of a Binder.
type BinderOptions struct {
	// CreateBinding sends one Binding, without a rate limit. If its error is an APIStatus, the API
	// server has answered. Such an answer usually means that the pod was not bound.
	CreateBinding func(context.Context, *corev1.Binding) error
	Client        kubernetes.Interface    // to read pods
	Limit         flowcontrol.RateLimiter // of Bindings; Bind waits for it before it calls Fence
	Fence         func() error            // returns an error while another replica may bind pods (the fence is then closed)
	Timeout       time.Duration           // of one request, after Fence has returned nil
	Durations     prometheus.ObserverVec  // of requests, in seconds, by result: bound or error; may be nil
	Sleep         func(time.Duration)     // waits between two tries; nil for time.Sleep
}

// Binder binds pods. Several goroutines may use it at the same time.
type Binder struct{ options BinderOptions }

// NewBinder returns a Binder.
func NewBinder(o BinderOptions) *Binder {
	if o.Sleep == nil {
		o.Sleep = time.Sleep
	}
	return &Binder{o}
}

const (
	// maxTries is the number of tries without a conclusive answer after which Bind calls detach.
	// Once ctx has ended, it is also the largest number of tries.
	maxTries = 3
	// minDelay is the time between the first two tries. It doubles with each try, up to maxDelay.
	minDelay, maxDelay = 50 * time.Millisecond, 5 * time.Second
)

// Bind binds a pod as decided. If it returns an error, the pod is not bound to the decided node.
//
// A request without an answer may take effect later, so it does not help to read the pod. Bind
// sends the same Binding again until the API server answers. It does not stop just because ctx
// ends. It returns only in one of these cases: the outcome is known; the fence was closed before
// the first request; or ctx has ended, and either maxTries requests were sent or the fence is
// closed. In the last case, Bind first waits until no request can take effect any more, because the
// lease is released afterwards. After maxTries requests without an answer, Bind calls detach, so
// that the caller need not wait. The answer may never come, for example if an admission webhook for
// one namespace does not answer.
//
// While the fence is closed, Bind keeps waiting, and the pod keeps its resources. A process that
// was frozen may become the leader again.
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
			// The error answers only this request. If an earlier request had no answer, it may
			// still take effect. After a server error, this one may, too.
			detach()
			if b.Resolve(ctx, decision) == nil {
				return nil
			}
			return fmt.Errorf("bind pod %s to node %q: %w", decision.Pod, decision.At.Node, err)
		case closed != nil && err == nil, closed == nil && isAnswer(err): // no request was sent, or the last one was answered
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

// Resolve finds out whether a pod is bound as decided. It returns nil if it is, and an error if it
// is not. It first waits until no earlier request can take effect any more. Then it reads the pod
// until the API server answers. Once ctx has ended, it gives up after maxTries reads.
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

// try sends a Binding once. After an error other than "not found", it reads the pod, because the
// API server can answer 409 or 500 after it has stored the Binding. The outcome is unknown if it
// cannot read the pod.
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

// errUnknown means that the pod could not be read after an error. An error that wraps errUnknown
// has the answers of the API server only as text, because they do not tell whether the pod is
// bound.
var errUnknown = errors.New("the outcome is unknown")

// isAnswer reports whether an error is a final answer of the API server to a request. If the
// request timed out in the API server, it may still take effect, so this is no final answer.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}

// isServerError reports whether an error is an answer with a status of 500 or more. The request may
// still take effect. For example, a proxy may have lost its connection to the API server after it
// had sent the request.
func isServerError(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 500
}

// isRefusal reports whether an error of Bind says that the API server has refused the Binding, so
// the pod exists and has no node.
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

// isBound reads a pod, and reports whether it is bound to the decided node.
func (b *Binder) isBound(ctx context.Context, decision sched.Decision) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	pod, err := b.options.Client.CoreV1().Pods(decision.Pod.Namespace).Get(ctx, decision.Pod.Name, metav1.GetOptions{})
	return err == nil && string(pod.UID) == decision.Pod.UID && pod.Spec.NodeName == decision.At.Node, err
}

// newBinding returns the Binding of a decision. The API server checks the UID in it, and copies its
// annotations to the pod.
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

// placements returns, for each container that has any, the number of CPUs on each NUMA node and the
// GPUs.
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

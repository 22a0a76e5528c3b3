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
	// CreateBinding sends one Binding, without a rate limit. If the error is an APIStatus, the API
	// server has answered the request. An error of this type usually means that the pod was not
	// bound.
	CreateBinding func(context.Context, *corev1.Binding) error
	Client        kubernetes.Interface    // to read pods
	Limit         flowcontrol.RateLimiter // rate limit of Bindings; Bind waits for the limit once, before it calls Fence
	Fence         func() error            // returns an error while another replica may bind pods (the fence is then closed)
	Timeout       time.Duration           // timeout of one request; it begins before Fence is called
	Durations     prometheus.ObserverVec  // metric of the durations of requests in seconds, by result (bound or error); may be nil
	Sleep         func(time.Duration)     // waits, for example between two requests; nil for time.Sleep
}

// Binder binds pods to nodes. Several goroutines may use a Binder at the same time.
type Binder struct{ options BinderOptions }

// NewBinder returns a Binder.
func NewBinder(o BinderOptions) *Binder {
	if o.Sleep == nil {
		o.Sleep = time.Sleep
	}
	return &Binder{o}
}

const (
	// maxTries is the number of tries without a conclusive answer after which Bind calls its
	// argument `detach`, so that the caller need not wait for the pod any longer. If ctx is done,
	// Bind and Resolve give up after this number of tries.
	maxTries = 3
	// minDelay is the time between the first two requests for a pod. The time doubles with each
	// request, up to maxDelay.
	minDelay, maxDelay = 50 * time.Millisecond, 5 * time.Second
)

// Bind binds a pod as decided. If it returns an error and ctx is not done, the pod is not bound to
// the decided node. If ctx is done, the outcome may be unknown. The fence (BinderOptions.Fence) is
// closed while another replica may bind pods.
//
// A request without an answer may take effect later, so it does not help to read the pod at once.
// Bind sends the same Binding again until the API server answers. If the answer does not say what
// became of earlier requests, Bind calls Resolve. Bind returns only in one of three cases. First,
// the outcome is known. Second, the fence was closed before the first request. Third, ctx is done,
// and either the fence is closed or Bind has made maxTries tries. In the third case, Bind first
// waits until no request can take effect any more, and then returns, because the leader's lease is
// released afterwards.
//
// Bind calls `detach` in two cases, so that the caller need not wait for this pod: after maxTries
// tries without an answer, and before it calls Resolve. The answer may never come, for example if
// an admission webhook for one namespace does not answer. If the fence closes after the first
// request, Bind does not give up, because this process may become the leader again, for example
// after it was frozen for a while. An error would tell the caller that the pod is not bound,
// although the first request may have bound it. So Bind keeps trying, and the pod keeps its
// resources.
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
		closed, answer := b.tryFenced(ctx, decision, binding)
		if closed == nil {
			err = answer
		}
		switch {
		case closed == nil && err == nil:
			return nil
		case closed == nil && isAnswer(err) && (unanswered || isServerError(err)) && !apierrors.IsNotFound(err):
			// The error is the answer to the last request only. If an earlier request had no answer,
			// this earlier request may still take effect. After a server error, the last request may
			// still take effect, too.
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

// Resolve finds out whether a pod is bound as decided. It returns nil if the pod is bound to the
// decided node, and otherwise an error. It first waits until no earlier request to bind the pod can
// take effect any more. Then it tries to read the pod until the API server answers. Once ctx is
// done, it gives up after maxTries reads, and its error does not tell whether the pod is bound.
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

// tryFenced checks the fence, and if the fence is open, it sends a Binding once (see the method
// `try`). If the fence is closed, it returns the fence's error as `closed`, and sends nothing.
//
// The deadline of the request is set before the check of the fence. This process may be stopped
// (SIGSTOP) between the check and the request for longer than the timeout. The deadline is then
// over before a new leader binds pods, and the request is not sent (see client.go).
func (b *Binder) tryFenced(ctx context.Context, decision sched.Decision, binding *corev1.Binding) (closed, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Timeout)
	defer cancel()
	if closed := b.options.Fence(); closed != nil {
		return closed, nil
	}
	return nil, b.try(ctx, decision, binding)
}

// try sends a Binding once. If the API server answers with an error other than "not found", the
// method reads the pod, because the API server can answer 409 or 500 after it has stored the
// Binding. If the pod cannot be read, although it may exist, the method returns errUnknown: the
// outcome of the Binding is unknown.
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

// errUnknown means that the answer to a Binding was an error, and the pod could not be read
// afterwards. It is then not known whether the pod is bound, so isAnswer must return false for an
// error that wraps errUnknown. isAnswer returns true if an error wraps an answer of the API server.
// So an error that wraps errUnknown has the answers only as text, and does not wrap them.
var errUnknown = errors.New("the outcome is unknown")

// isAnswer reports whether an error is an answer of the API server to a request. An answer which
// says that the request has timed out in the API server does not count: Bind then sends the Binding
// again, as if there were no answer.
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

// isRefusal reports whether an error of Bind says that the API server has refused the Binding
// (status 400 to 499). It returns false for three of these statuses: 404 (the pod is gone), 409
// (for example, the pod already has a node) and 429 (the API server is overloaded).
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.Status().Code
	return code >= 400 && code < 500 && code != http.StatusNotFound && code != http.StatusConflict && code != http.StatusTooManyRequests
}

func (b *Binder) create(ctx context.Context, binding *corev1.Binding) error {
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

// newBinding returns the Binding of a decision. The Binding has the pod's UID, which the API server
// checks. If the pod has exclusive CPUs or whole GPUs, the annotations of the Binding have the
// placement. The API server copies these annotations to the pod.
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

// placements returns the decided placement of each container with exclusive CPUs or GPUs, by
// container name: the number of exclusive CPUs on each NUMA node, and the GPUs.
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

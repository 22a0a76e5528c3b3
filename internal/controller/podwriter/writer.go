package podwriter

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/sched"
)

// Writer writes Bindings to the API server, and reports the outcome in conditions and events of the
// pods. Any goroutine may call its methods.
type Writer struct {
	*Reporter
	Binder *Binder
	// Prepare prepares the volumes and devices of a pod, and then calls the function given as
	// `post`, which binds the pod. It is called for each pod whose field Across (sched.Pod) is set,
	// which means that the fit on a node depends on other nodes, too. All pods with volumes or
	// devices to prepare are among these.
	Prepare func(ctx context.Context, d sched.Decision, detach func(), post func() error) error
	Waited  func(uid string) (time.Duration, bool) // returns how long a pending pod has waited; false if the pod is not pending
	Waits   prometheus.Observer                    // gets the waiting times of bound pods, in seconds

	slow slowBindings
}

// Bind binds a pod as decided, and reports the outcome. It first drops reports about the pod that
// are not written yet. Otherwise a report that the pod is pending could be written after the pod
// was bound. If Bind returns an error and ctx is not done, the pod is not bound to the decided
// node.
func (w *Writer) Bind(ctx context.Context, decision sched.Decision, detach func()) error {
	w.suppress(decision.Pod.UID)
	end := w.gaps.begin() // also called when the Binding is detached: reports must not wait for it any longer, because the API server may never answer it
	defer end()
	posted := false
	post := func() error {
		posted = true
		limited, release := w.slow.limit(detach)
		defer release()
		return w.Binder.Bind(ctx, decision, func() { end(); limited() })
	}
	if err := w.prepare(ctx, decision, func() { end(); detach() }, post); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "its node gets everything back, and the pod is pending again")
		if !posted || isRefusal(err) {
			w.failed(decision.Pod, err)
		}
		return err
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("bound", "pod", decision.Pod.String(), "node", decision.At.Node)
	if waited, ok := w.Waited(decision.Pod.UID); ok {
		w.Waits.Observe(waited.Seconds())
	}
	w.scheduled(decision)
	return nil
}

// prepare calls `post`, which binds the pod. If the pod's field Across is set, it instead calls
// w.Prepare, which prepares the pod's volumes and devices and then calls `post`.
func (w *Writer) prepare(ctx context.Context, decision sched.Decision, detach func(), post func() error) error {
	if !decision.Pod.Across {
		return post()
	}
	return w.Prepare(ctx, decision, detach, post)
}

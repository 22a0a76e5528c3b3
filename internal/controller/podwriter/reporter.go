package podwriter

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

const (
	// explainShare limits explanations to 1/explainShare of one CPU: most cost O(nodes).
	explainShare = 10
	// repeatAfter is how soon the same event is written again: events expire.
	repeatAfter = 10 * time.Minute
)

// Reporter writes events and conditions of pods. Its methods may be called from any
// goroutine, and return at once unless they say otherwise.
type Reporter struct {
	client      kubernetes.Interface
	fence       func() error
	timeout     time.Duration
	explain     func(*sched.Pod) string
	kindOf      func(*sched.Pod) string
	newest      func(namespace, name string) *corev1.Pod
	shared      explanations
	broadcaster events.EventBroadcaster // of failures, which come again
	bound       *boundEvents
	turns       *turns
	failures    *failureQueue
	outdated    *outdated
}

// Dependencies are what a Reporter writes with.
type Dependencies struct {
	Client kubernetes.Interface
	// Fence returns why this process must not write conditions now: another process may schedule.
	// Timeout limits a request that the fence permitted. With a nil Fence there is no fence, and
	// with 0 no limit.
	Fence       func() error
	Timeout     time.Duration
	CreateEvent func(context.Context, *eventsv1.Event) error // for pods that are bound
	// Explain returns why no node suits a pod, or why too few nodes suit its gang. Only Run
	// calls it.
	Explain func(*sched.Pod) string
	// Newest returns a pod as this process saw it last, or nil if it is gone. With a nil Newest,
	// conditions are written without a precondition.
	Newest func(namespace, name string) *corev1.Pod
	// Kind returns a text that is equal only for pods with the same explanation, or "". Only
	// Run calls it; nil means that no two pods have.
	Kind func(*sched.Pod) string
}

// NewReporter returns a reporter that writes events until ctx ends.
func NewReporter(ctx context.Context, d Dependencies) (*Reporter, error) {
	bound, err := newBoundEvents(d.CreateEvent)
	if err != nil {
		return nil, err
	}
	r := &Reporter{client: d.Client, fence: d.Fence, timeout: d.Timeout, explain: d.Explain, kindOf: d.Kind, newest: d.Newest, bound: bound, turns: newTurns(bound.binding), failures: newFailureQueue(), outdated: newOutdated()}
	if r.fence == nil {
		r.fence = func() error { return nil }
	}
	if r.kindOf == nil {
		r.kindOf = func(*sched.Pod) string { return "" }
	}
	r.broadcaster = events.NewBroadcaster(newSerial(&events.EventSinkImpl{Interface: d.Client.EventsV1()}, bound.binding))
	return r, r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

// scheduled reports that a pod is bound.
func (r *Reporter) scheduled(decision sched.Decision) {
	r.bound.add(boundPod{decision.Pod, decision.At.Node, time.Now()})
}

// Unschedulable reports that no node suits a pod, or that too few nodes suit its gang, and the
// reason.
func (r *Reporter) Unschedulable(pod *sched.Pod) {
	pods, _ := pod.Together()
	shared := &attempt{pod: pod}
	for _, p := range pods {
		r.failures.add(failure{pod: p, reason: corev1.PodReasonUnschedulable, attempt: shared})
	}
}

// Refused reports that a pod requests what no node can provide.
func (r *Reporter) Refused(pod *sched.Pod, err error) {
	r.failures.add(failure{pod: pod, reason: corev1.PodReasonUnschedulable, message: err.Error()})
}

// Waits reports which pods come before a pod.
func (r *Reporter) Waits(pod *sched.Pod, why string) {
	r.failures.add(failure{pod: pod, reason: corev1.PodReasonUnschedulable, message: why})
}

// Panicked reports, on the pod or on all pods of its gang, that the scheduler panicked when it
// handled them.
func (r *Reporter) Panicked(pod *sched.Pod, cause any) {
	pods, _ := pod.Together()
	for _, p := range pods {
		r.failed(p, fmt.Errorf("scheduling the pod panicked and is tried again later; please report this with the log of the scheduler: %v", cause))
	}
}

// failed reports that a pod could not be placed, or not be bound to its node.
func (r *Reporter) failed(pod *sched.Pod, err error) {
	r.failures.add(failure{pod: pod, reason: corev1.PodReasonSchedulerError, message: err.Error()})
}

// LastReport returns the last message that was reported for a pending pod, or "".
func (r *Reporter) LastReport(uid string) string { return r.failures.lastReport(uid) }

// suppress drops the waiting report of a pod that is about to be bound, because the
// API server records the binding in the same condition. It waits while a report of
// this pod is being written.
func (r *Reporter) suppress(uid string) { r.failures.suppress(uid) }

// Observe removes the data of a pod that is bound, has ended or is gone. It is a subscriber of the
// state of the nodes.
func (r *Reporter) Observe(event nodestate.Event) {
	if event.Kind == nodestate.Bound || event.Kind == nodestate.Released {
		r.Forget(event.UID)
	}
}

// Forget removes all data of a pod that is no longer pending.
func (r *Reporter) Forget(uid string) { r.failures.forget(uid) }

// Run writes reports until ctx ends: those of bound pods as fast as pods are bound,
// those of failures in order, a few at a time, and fewer while pods are bound. After each explanation it rests, so that
// explanations take at most 1/explainShare of a CPU.
func (r *Reporter) Run(ctx context.Context) error {
	var others sync.WaitGroup
	others.Go(func() { r.bound.run(ctx) })
	others.Go(func() { r.renew(ctx) })
	defer others.Wait()
	var writes sync.WaitGroup
	for {
		f, ok := r.failures.next(ctx)
		if !ok {
			writes.Wait()
			r.broadcaster.Shutdown()
			return nil
		}
		began := time.Now()
		if f.message == "" {
			f.message = r.shared.of(f.attempt, r.kindOf(f.attempt.pod), r.explain)
		}
		took := time.Since(began)
		// The turn comes first: a Binding of the pod waits for a report that has begun.
		if done := r.turns.take(f.added); r.failures.beginWrite(f) {
			writes.Go(func() {
				defer done()
				r.write(ctx, f)
				r.failures.endWrite(f)
			})
		} else {
			done()
		}
		pause(ctx, (explainShare-1)*took)
	}
}

// write writes the event, and the condition if its message has changed. A condition that could not be
// written is tried again later, and only that: autoscalers wait for it.
func (r *Reporter) write(ctx context.Context, f failure) {
	if f.tries == 0 {
		before, known := r.failures.recordReport(f)
		unchanged := known && before.message == f.message
		if unchanged && time.Since(before.at) < repeatAfter {
			return
		}
		r.recorder(f.pod).Eventf(podReference(f.pod), nil, corev1.EventTypeWarning, v1alpha1.EventFailedScheduling, f.action(), "%s", f.message)
		if unchanged {
			return
		}
	}
	if err := r.setCondition(ctx, f); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("the condition of a waiting pod is not written yet", "pod", f.pod.String(), "tries", f.tries+1, "error", err.Error())
		r.failures.later(f)
	}
}

// setCondition sets the condition PodScheduled to false, which autoscalers and people
// look for. A pod that was deleted or bound needs none. Like a Binding it needs the lease: a former
// leader must not contradict the new one.
//
// The lease is not enough, because a request may take effect after its answer was given up. So the
// patch also needs the resource version that this process saw last, while the pod was not bound:
// otherwise it could overwrite what the API server sets with a Binding. A read before each patch was
// rejected, because it doubles the requests in a burst of pods.
func (r *Reporter) setCondition(ctx context.Context, f failure) error {
	version, pending := r.precondition(f.pod)
	if !pending {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": f.pod.UID, "resourceVersion": version},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: f.reason,
			Message: f.message, LastTransitionTime: metav1.NewTime(time.Now()),
		}}},
	})
	if err != nil {
		return fmt.Errorf("encode condition of pod %s: %w", f.pod, err)
	}
	if err := r.fence(); err != nil {
		return fmt.Errorf("set condition PodScheduled of pod %s: %w", f.pod, err)
	}
	if r.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		ctx = limited
	}
	_, err = r.client.CoreV1().Pods(f.pod.Namespace).Patch(ctx, f.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("set condition PodScheduled of pod %s: %w", f.pod, err)
	}
	return nil
}

// precondition returns the resource version of a pod, nil for any, and whether the pod is known to be
// not bound.
func (r *Reporter) precondition(pod *sched.Pod) (version any, pending bool) {
	if r.newest == nil {
		return nil, true
	}
	now := r.newest(pod.Namespace, pod.Name)
	if now == nil || string(now.UID) != pod.UID || now.Spec.NodeName != "" {
		return nil, false
	}
	return now.ResourceVersion, true
}

func (r *Reporter) recorder(pod *sched.Pod) events.EventRecorder {
	return r.broadcaster.NewRecorder(scheme.Scheme, pod.Profile)
}

func podReference(pod *sched.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

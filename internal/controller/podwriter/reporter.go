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
	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

const (
	// Explanations take at most 1/explainShare of the time of one CPU. They are limited because most
	// of them visit all nodes.
	explainShare = 10
	// repeatAfter is the time after which an unchanged report is written again as an event, because
	// the API server deletes old events.
	repeatAfter = 10 * time.Minute
)

// Reporter writes events and conditions of pods. Any goroutine may call its methods. A method
// returns at once unless its comment says otherwise.
type Reporter struct {
	client      kubernetes.Interface
	fence       func() error
	timeout     time.Duration
	explain     func(*sched.Pod) string
	kindOf      func(*sched.Pod) string
	newest      func(namespace, name string) *corev1.Pod
	placed      func(uid string) bool
	shared      explanations
	rested      time.Time               // when the pause after the last explanation ends; only Run uses it
	broadcaster events.EventBroadcaster // for events of failures, which may repeat
	bound       *boundEvents
	gaps        *gaps
	turns       *turns
	failures    *failureQueue
	outdated    *outdated
}

// Dependencies are what a Reporter needs.
type Dependencies struct {
	Client kubernetes.Interface
	// Fence returns an error while another replica may schedule. The Reporter then writes no
	// conditions. If Fence is nil, the Reporter always writes conditions. Timeout limits the total
	// time of a call of Fence and of the request that follows it, because a new leader waits for
	// this time before it writes anything. Zero means no limit.
	Fence       func() error
	Timeout     time.Duration
	CreateEvent func(context.Context, *eventsv1.Event) error // creates the event Scheduled of a bound pod
	// Explain returns why no node suits a pod, or why too few nodes suit its gang. Only Run calls
	// Explain, so it need not be safe for concurrent use.
	Explain func(*sched.Pod) string
	// Newest returns the newest version of a pod that this process has seen, or nil if the pod is
	// gone. If Newest is nil, a condition is written whatever version of the pod the API server
	// has, and each condition counts as the first one of its pod.
	Newest func(namespace, name string) *corev1.Pod
	// Placed reports whether a pod is assigned to a node in the state of the nodes. Such a pod is
	// bound, or is being bound. If Placed is nil, no pod is.
	Placed func(uid string) bool
	// Kind returns a key for a pod. The same explanation of why no node suits a pod is valid for
	// all pods with the same key, unless the key is "". A pod with the key "" shares its
	// explanation only with the pods of its gang. Only Run calls Kind. If Kind is nil, pods do not
	// share explanations.
	Kind func(*sched.Pod) string
}

// NewReporter returns a Reporter. It writes reports while Run runs. Once ctx is done, it writes no
// events of failures any more.
func NewReporter(ctx context.Context, d Dependencies) (*Reporter, error) {
	bound, err := newBoundEvents(d.CreateEvent)
	if err != nil {
		return nil, err
	}
	free := newGaps()
	r := &Reporter{client: d.Client, fence: d.Fence, timeout: d.Timeout, explain: d.Explain, kindOf: d.Kind, newest: d.Newest, placed: d.Placed, bound: bound, gaps: free, turns: newTurns(bound.binding, free), failures: newFailureQueue(), outdated: newOutdated()}
	if r.fence == nil {
		r.fence = func() error { return nil }
	}
	if r.placed == nil {
		r.placed = func(string) bool { return false }
	}
	if r.kindOf == nil {
		r.kindOf = func(*sched.Pod) string { return "" }
	}
	r.broadcaster = events.NewBroadcaster(newSerial(&events.EventSinkImpl{Interface: d.Client.EventsV1()}, bound.binding, free))
	return r, r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

// scheduled queues the event Scheduled, which says that a pod was bound.
func (r *Reporter) scheduled(decision sched.Decision) {
	r.bound.add(newBoundPod(decision.Pod, decision.At.Node, time.Now()))
}

// Unschedulable reports that no node suits a pod. If the pod belongs to a gang, it reports on each
// pod of the gang that has no node, and the report says that too few nodes suit the gang. The report
// also says why.
func (r *Reporter) Unschedulable(pod *sched.Pod) {
	pods, _ := pod.Together()
	shared := &attempt{pod: pod}
	for _, p := range pods {
		if !r.placed(p.UID) {
			r.report(failure{pod: p, reason: corev1.PodReasonUnschedulable, attempt: shared})
		}
	}
}

// Refused reports that a pod has a request that no node can fulfil.
func (r *Reporter) Refused(pod *sched.Pod, err error) {
	r.report(failure{pod: pod, reason: corev1.PodReasonUnschedulable, message: err.Error()})
}

// Waits reports that a pod waits in the queue. The text given as `why` says what the pod waits for,
// for example for the pods that come before it.
func (r *Reporter) Waits(pod *sched.Pod, why string) {
	r.report(failure{pod: pod, reason: corev1.PodReasonUnschedulable, message: why, queued: true})
}

// Panicked reports that the scheduler panicked when it handled a pod. If the pod belongs to a gang,
// it reports this on each pod of the gang.
func (r *Reporter) Panicked(pod *sched.Pod, cause any) {
	pods, _ := pod.Together()
	for _, p := range pods {
		r.failed(p, fmt.Errorf("scheduling the pod panicked and is tried again later; please report this with the log of the scheduler: %v", cause))
	}
}

// failed reports that a pod could not be scheduled or bound because of an error.
func (r *Reporter) failed(pod *sched.Pod, err error) {
	r.report(failure{pod: pod, reason: corev1.PodReasonSchedulerError, message: err.Error()})
}

// report queues a failure. Run writes it.
func (r *Reporter) report(f failure) {
	if f.reason == corev1.PodReasonUnschedulable && !r.saysUnschedulable(f.pod) {
		f.first = time.Now()
	}
	r.failures.add(f)
}

// saysUnschedulable reports whether a pod already has the condition that it is unschedulable.
// Another process, such as a former leader, may have written this condition.
func (r *Reporter) saysUnschedulable(pod *sched.Pod) bool {
	last, ok := r.failures.lastUnschedulable(pod.UID)
	return ok && last.tries == 0 || r.condition(pod).Reason == corev1.PodReasonUnschedulable
}

// says reports whether a pod already has the condition that reports the failure f.
func (r *Reporter) says(f failure) bool {
	c := r.condition(f.pod)
	return c.Reason == f.reason && c.Message == f.message
}

// condition returns a pod's condition PodScheduled if its status is False, which means that the pod
// is not scheduled. It reads the newest version of the pod that this process has seen. Without such
// a condition, it returns the zero value.
func (r *Reporter) condition(pod *sched.Pod) corev1.PodCondition {
	if now := r.seen(pod); now != nil {
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return c
			}
		}
	}
	return corev1.PodCondition{}
}

// seen returns the newest version of a pod that this process has seen. It returns nil if the pod is
// gone, even if another pod has its name now.
func (r *Reporter) seen(pod *sched.Pod) *corev1.Pod {
	if r.newest == nil {
		return nil
	}
	if now := r.newest(pod.Namespace, pod.Name); now != nil && string(now.UID) == pod.UID {
		return now
	}
	return nil
}

// LastReport returns the message of the last report about a pending pod, or "" if there was no
// report.
func (r *Reporter) LastReport(uid string) string { return r.failures.lastReport(uid) }

// suppress drops the report about a pod that is about to be bound. The API server records a Binding
// in the pod's condition PodScheduled, and a late report would overwrite this condition. If a
// report about the pod is being written, suppress waits until it is written.
func (r *Reporter) suppress(uid string) { r.failures.suppress(uid) }

// Observe forgets a pod that is bound, has ended or is gone. It is a subscriber of the state of the
// nodes.
func (r *Reporter) Observe(event nodestate.Event) {
	if event.Kind == nodestate.Bound || event.Kind == nodestate.Released {
		r.Forget(event.UID)
	}
}

// Forget drops all reports about a pod that is no longer pending.
func (r *Reporter) Forget(uid string) { r.failures.forget(uid) }

// Run writes reports until ctx is done. It writes events of bound pods in other goroutines. It
// writes reports of failures in the order of the queue, a few at the same time, and fewer while
// pods are being bound (see the type `turns`). When a write takes longer than hangsAfter, another
// one may begin, so that writes that hang do not stop all others.
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
		f.message = r.message(ctx, f)
		// turns.take may wait long, so it comes before beginWrite. From beginWrite to endWrite, the
		// method `suppress` waits for the report. A Binding of the pod waits for it as well,
		// because Writer.Bind calls `suppress` first.
		done := r.turns.take(f)
		if w := r.failures.beginWrite(f); w != nil {
			hangs := time.AfterFunc(hangsAfter, func() {
				r.failures.hang(w)
				done()
			})
			writes.Go(func() {
				r.write(ctx, f)
				hangs.Stop()
				r.failures.endWrite(w)
				done()
			})
		} else {
			done()
		}
	}
}

// message returns the message of a failure. If the failure needs an explanation that is not known
// yet, message makes it. Before that, it pauses after the previous explanation, so that explanations
// take at most 1/explainShare of a CPU. If the first condition of a pod would wait for this pause
// longer than `patience`, the message is that of the last report, whose condition could not be
// written, or else `unexplained`, and an explanation follows later. Otherwise 1,000 pods that need an
// explanation each would wait minutes for the conditions that cluster autoscalers need.
func (r *Reporter) message(ctx context.Context, f failure) string {
	if f.message != "" {
		return f.message
	}
	kind := r.kindOf(f.attempt.pod)
	if why, ok := r.shared.known(f.attempt, kind); ok {
		return why
	}
	if !f.first.IsZero() && r.rested.After(f.first.Add(patience)) {
		if last, ok := r.failures.lastUnschedulable(f.pod.UID); ok {
			return last.message
		}
		return unexplained
	}
	pause(ctx, time.Until(r.rested))
	began := time.Now()
	why := r.shared.find(f.attempt, kind, r.explain)
	r.rested = time.Now().Add((explainShare - 1) * time.Since(began))
	return why
}

// write writes the event and the condition PodScheduled of a failure. It writes nothing if this
// process has seen meanwhile that the pod was deleted or bound. If the message equals that of the
// pod's last report, it does not write the condition again, and writes the event only if at least
// repeatAfter has passed since that report. A condition that a former process (such as a former
// leader) has written counts as a report, too. Otherwise a restart would write the conditions and
// events of all waiting pods again. If the condition cannot be written, it is written later, because
// cluster autoscalers read it. The later write does not repeat the event. A failure without an
// explanation gets no event, because the event of its explanation follows.
func (r *Reporter) write(ctx context.Context, f failure) {
	if f.message == unexplained {
		defer r.failures.explainLater(f)
	}
	if _, pending := r.precondition(f.pod); !pending {
		r.failures.forget(f.pod.UID)
		return
	}
	if f.tries == 0 {
		before, known := r.failures.recordReport(f)
		if !known && r.says(f) {
			return
		}
		unchanged := known && before.message == f.message
		if f.message != unexplained && (!unchanged || time.Since(before.at) >= repeatAfter) {
			r.recorder(f.pod).Eventf(podReference(f.pod.Namespace, f.pod.Name, f.pod.UID), nil, corev1.EventTypeWarning, v1alpha1.EventFailedScheduling, f.action(), "%s", f.message)
		}
		if unchanged && (before.tries == 0 || before.retrying) {
			return
		}
		if unchanged {
			f.tries = before.tries // this failure has taken the place of a retry
		}
	}
	if err := r.setCondition(ctx, f); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("the condition of a waiting pod is not written yet", "pod", f.pod.String(), "tries", f.tries+1, "error", err.Error())
		r.failures.later(f)
		return
	}
	r.failures.conditionWritten(f)
}

// setCondition sets the condition PodScheduled of a pod to False. Cluster autoscalers and people
// read this condition. setCondition does nothing if this process has seen that the pod was deleted
// or bound. Like a Binding, the write needs the leader's lease, because a former leader must not
// contradict the new leader.
//
// The lease alone does not suffice, because a patch may take effect after this process has stopped
// waiting for its answer. So the patch also contains the newest resource version of the pod that
// this process has seen. In this version, the pod was not bound. If the pod was bound since, the
// API server refuses the patch. Without the version, the patch could overwrite the condition that
// the API server sets with a Binding. setCondition does not read the pod before each patch, because
// this would double the number of requests in a burst of pods.
func (r *Reporter) setCondition(ctx context.Context, f failure) error {
	version, pending := r.precondition(f.pod)
	if !pending {
		return nil
	}
	since := metav1.NewTime(time.Now())
	if before := r.condition(f.pod); !before.LastTransitionTime.IsZero() {
		since = before.LastTransitionTime // the status is False already
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": f.pod.UID, "resourceVersion": version},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: f.reason,
			Message: f.message, LastTransitionTime: since,
		}}},
	})
	if err != nil {
		return fmt.Errorf("encode condition of pod %s: %w", f.pod, err)
	}
	if r.timeout > 0 { // the deadline is set before the check of the fence; the comment of Binder.tryFenced says why
		limited, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		ctx = limited
	}
	if err := r.fence(); err != nil {
		return fmt.Errorf("set condition PodScheduled of pod %s: %w", f.pod, err)
	}
	_, err = r.client.CoreV1().Pods(f.pod.Namespace).Patch(ctx, f.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("set condition PodScheduled of pod %s: %w", f.pod, err)
	}
	return nil
}

// precondition returns the resource version that the patch of a pod's condition must contain. It
// returns nil if the patch applies to any version of the pod. The result `pending` is false if the
// pod is bound or gone.
func (r *Reporter) precondition(pod *sched.Pod) (version any, pending bool) {
	if r.newest == nil {
		return nil, true
	}
	now := r.seen(pod)
	if now == nil || now.Spec.NodeName != "" {
		return nil, false
	}
	return now.ResourceVersion, true
}

func (r *Reporter) recorder(pod *sched.Pod) events.EventRecorder {
	return kubeapi.Recorder{EventRecorder: r.broadcaster.NewRecorder(scheme.Scheme, pod.Profile)}
}

func podReference(namespace, name, uid string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(uid)}
}

// pause waits for d, or until ctx is done. If d is 0, it returns at once and makes no timer: with Go
// 1.26.8 and the race detector, the Go runtime once crashed in simulated time (testing/synctest) when
// it ran a timer of 0 (runtime.(*timer).maybeRunChan).
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

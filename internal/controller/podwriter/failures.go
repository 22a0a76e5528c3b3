package podwriter

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// failureQueue has the scheduling failures that are not reported yet. It keeps only the newest
// failure of each pod. The queue has four parts. The first part has the failures of pods whose
// condition PodScheduled does not say yet that they are unschedulable (see failure.first). These
// come first because cluster autoscalers need this condition. The second part has the failures of
// other pods. Both parts are in the order in which the pods failed. The third part has failures
// that were reported before with an explanation of why no node suits the pod, and whose explanation
// is outdated now. The fourth part has the failures that must not be reported yet, because earlier
// writes are not finished (see the method `mustWait`). The queue also has the last report of each
// pending pod. Any goroutine may call its methods.
type failureQueue struct {
	mu         sync.Mutex
	first      line
	waiting    line
	outdated   line
	held       line
	reported   map[string]report  // last reports, by UID of the pending pod
	explained  map[string]failure // by the pod's UID: the last reported failure of the pod, if its field `attempt` is set; a new explanation can be made from the attempt
	explaining string             // UID of the pod whose failure is being explained
	writing    map[string]*write  // the reports that are being written, by the pod's UID
	hanging    map[string]int     // the number of writes that hang, by the namespace of the pod
	written    *sync.Cond         // signaled when a report was written
	arrived    chan struct{}
}

// failure is a pod that was not scheduled. The field `reason` is the reason in the pod's condition
// PodScheduled. If the field `message` is empty, the failure is an attempt that found no node (the
// field `attempt`). The message is then made when the failure is reported. It explains why no node
// suits the pod.
type failure struct {
	pod             *sched.Pod
	reason, message string
	attempt         *attempt
	queued          bool      // the failure is that the pod waits in the queue (Reporter.Waits)
	tries           int       // number of tries to write the condition; the event is written before the first try
	first           time.Time // when the pod failed, if no condition of the pod says yet that it is unschedulable; otherwise zero
}

// write is a report that is being written.
type write struct {
	uid, namespace string // UID and namespace of the pod
	hangs          bool   // the write takes longer than hangsAfter
}

// unexplained is the message of the first condition of a pod that no node suits, if the explanation
// would come too late (see Reporter.message).
const unexplained = "no node suits the pod now; the reasons will follow"

// overdue reports whether the first condition of a pod has waited for Bindings long enough (see
// patience). It is then written even while pods are being bound.
func (f failure) overdue() bool { return !f.first.IsZero() && time.Since(f.first) >= patience }

// attempt is one failed attempt to place a pod, or a gang: pods that are placed all together or not
// at all.
type attempt struct {
	pod   *sched.Pod
	since time.Time // an explanation that was made for another attempt before this time must not be used; zero means no such limit
	why   string    // the explanation; "" if there is none yet; only Reporter.Run uses it
}

// action returns the field `action` of the event that reports a failure. Errors (reason
// SchedulerError), pods that fit no node (reason Unschedulable) and pods that wait in the queue have
// different actions. With equal actions, client-go's recorder would merge two events about the same
// pod that are less than six minutes apart, even if one is about an error and the other about no
// fitting node. It would keep only the message of the first event.
// Source: k8s.io/client-go/tools/events, getKey.
func (f failure) action() string {
	switch {
	case f.reason == corev1.PodReasonSchedulerError:
		return "Binding"
	case f.queued:
		return "Queueing"
	}
	return "Scheduling"
}

// report is a message that was reported about a pod.
type report struct {
	reason   string
	message  string
	at       time.Time // when it was reported
	tries    int       // how often the condition could not be written; 0 if it is written, or is being written for the first time
	retrying bool      // the function `later` will queue the failure again
}

func newFailureQueue() *failureQueue {
	q := &failureQueue{
		first: newLine(), waiting: newLine(), outdated: newLine(), held: newLine(), reported: map[string]report{}, explained: map[string]failure{},
		writing: map[string]*write{}, hanging: map[string]int{}, arrived: make(chan struct{}, 1),
	}
	q.written = sync.NewCond(&q.mu)
	return q
}

func (q *failureQueue) add(f failure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outdated.remove(f.pod.UID)
	q.put(f)
}

// put puts a failure into the line `first` or `waiting`. If the line `first` or `held` already has
// a failure of the pod, the new failure replaces that failure, and takes over its time
// (failure.first). In the line `first`, the new failure also takes over its place. The caller holds
// q.mu.
func (q *failureQueue) put(f failure) {
	for _, l := range []*line{&q.first, &q.held} {
		if earlier, ok := l.get(f.pod.UID); ok && !earlier.first.IsZero() {
			f.first = earlier.first
		}
	}
	q.held.remove(f.pod.UID)
	if f.first.IsZero() {
		q.waiting.add(f)
	} else {
		q.waiting.remove(f.pod.UID)
		q.first.add(f)
	}
	signal(q.arrived)
}

// has reports whether the line `first`, `waiting` or `held` has a failure of a pod. The line
// `outdated` does not count. The caller holds q.mu.
func (q *failureQueue) has(uid string) bool {
	return q.first.has(uid) || q.waiting.has(uid) || q.held.has(uid)
}

// suppress removes the failure of a pod from the queue, so that it is not reported. If a report
// about the pod is being written, the method waits until it is written.
func (q *failureQueue) suppress(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(uid)
	for q.writing[uid] != nil {
		q.written.Wait()
	}
}

// forget removes the failure of a pod from the queue, and also the pod's last report.
func (q *failureQueue) forget(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(uid)
	delete(q.reported, uid)
}

// drop removes the failure of a pod from the queue. It does not stop a report that is being
// written. The caller holds q.mu.
func (q *failureQueue) drop(uid string) {
	q.first.remove(uid)
	q.waiting.remove(uid)
	q.outdated.remove(uid)
	q.held.remove(uid)
	delete(q.explained, uid)
	if q.explaining == uid {
		q.explaining = ""
	}
}

// next waits for the next failure and returns it. It returns false when ctx is done.
func (q *failureQueue) next(ctx context.Context) (failure, bool) {
	for {
		if f, ok := q.pop(); ok {
			return f, ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return failure{}, false
		case <-q.arrived:
		}
	}
}

// pop removes the first failure that may be reported now from the queue, and returns it. It returns
// false if there is none. If earlier failures in the queue must wait, pop moves them to the line
// `held`.
func (q *failureQueue) pop() (failure, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range []*line{&q.first, &q.waiting, &q.outdated} {
		for f, ok := l.pop(); ok; f, ok = l.pop() {
			if !q.mustWait(f) {
				q.explaining = f.pod.UID
				return f, true
			}
			q.held.add(f)
		}
	}
	return failure{}, false
}

// mustWait reports whether a failure must not be reported yet. There are two cases. In the first
// case, an earlier report about the pod is still being written. In the second case, at least
// conditionWriters writes for pods of the same namespace hang. They may hang for the same reason,
// such as a webhook that does not answer, and one more write would probably hang as well. The
// caller holds q.mu.
func (q *failureQueue) mustWait(f failure) bool {
	return q.writing[f.pod.UID] != nil || q.hanging[f.pod.Namespace] >= conditionWriters
}

// beginWrite is called before a failure is reported. It returns nil if the failure must not be
// reported, because the method `suppress` or `forget` was called for the pod after the method `next`
// returned the failure. After the report, the caller must call endWrite with the result.
func (q *failureQueue) beginWrite(f failure) *write {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.explaining != f.pod.UID {
		return nil
	}
	w := &write{uid: f.pod.UID, namespace: f.pod.Namespace}
	q.explaining, q.writing[w.uid] = "", w
	if delete(q.explained, w.uid); f.attempt != nil {
		q.explained[w.uid] = f
	}
	return w
}

// hang records that a write hangs, unless it has ended.
func (q *failureQueue) hang(w *write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing[w.uid] == w {
		w.hangs = true
		q.hanging[w.namespace]++
	}
}

// endWrite records that a write has ended. If a failure in the line `held` may have waited for this
// write, endWrite moves all failures of this line back to the lines `first` and `waiting`.
func (q *failureQueue) endWrite(w *write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.writing, w.uid)
	if w.hangs {
		if q.hanging[w.namespace]--; q.hanging[w.namespace] == 0 {
			delete(q.hanging, w.namespace)
		}
	}
	if w.hangs || q.held.has(w.uid) {
		for f, ok := q.held.pop(); ok; f, ok = q.held.pop() {
			q.put(f)
		}
	}
	q.written.Broadcast()
}

const (
	// minRetry is the delay before the first retry to write a condition. The delay doubles with
	// each retry, up to maxRetry.
	minRetry, maxRetry = time.Second, time.Minute
)

// later is called when the condition for the failure f could not be written. It queues f again
// after a delay, unless the condition is written by then, the pod has a newer failure or report, or
// the pod is no longer pending.
func (q *failureQueue) later(f failure) {
	delay := min(maxRetry, minRetry<<min(f.tries, 10))
	f.tries++
	q.mu.Lock()
	defer q.mu.Unlock()
	q.amend(f, func(last *report) { last.tries, last.retrying = f.tries, true })
	time.AfterFunc(delay, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.amend(f, func(last *report) {
			last.retrying = false
			if last.tries > 0 && !q.has(f.pod.UID) { // a failure that the queue has replaces the retry
				q.put(f)
			}
		})
	})
}

// explainLater is called after a report about the failure f whose message is `unexplained`. If the
// condition is written, explainLater queues f again, without a message, so that an explanation
// replaces the message. It does nothing if the queue has a newer failure of the pod, or if
// `suppress` or `forget` was called for the pod.
func (q *failureQueue) explainLater(f failure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, pending := q.explained[f.pod.UID]
	if last := q.reported[f.pod.UID]; pending && last.message == unexplained && last.tries == 0 && !q.has(f.pod.UID) {
		f.message, f.tries, f.first = "", 0, time.Time{}
		q.put(f)
	}
}

// conditionWritten is called when the condition for the failure f is written.
func (q *failureQueue) conditionWritten(f failure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.amend(f, func(last *report) { last.tries = 0 })
}

// amend changes the last report about the pod of f, unless that report has another message than f,
// or the pod is no longer pending. The caller holds q.mu.
func (q *failureQueue) amend(f failure, change func(*report)) {
	if last, pending := q.reported[f.pod.UID]; pending && last.message == f.message {
		change(&last)
		q.reported[f.pod.UID] = last
	}
}

// recordReport returns the previous report about the pod of f. The result `known` is false if there
// was none. recordReport also records that f is reported now, unless the previous report has the
// same message and is less than repeatAfter old.
func (q *failureQueue) recordReport(f failure) (before report, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, known = q.reported[f.pod.UID]
	now := report{reason: f.reason, message: f.message, at: time.Now()}
	if known && before.message == f.message {
		now.tries, now.retrying = before.tries, before.retrying
		if time.Since(before.at) < repeatAfter {
			now.at = before.at
		}
	}
	q.reported[f.pod.UID] = now
	return before, known
}

// lastUnschedulable returns the last report about a pod, if it says that the pod is unschedulable.
// It returns false if it does not, or if there was no report.
func (q *failureQueue) lastUnschedulable(uid string) (report, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	last := q.reported[uid]
	return last, last.reason == corev1.PodReasonUnschedulable
}

// lastReport returns the message of the last report about a pod, or "" if there was no report.
func (q *failureQueue) lastReport(uid string) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reported[uid].message
}

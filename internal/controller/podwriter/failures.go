package podwriter

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// failureQueue holds failures that are not reported yet, the newest of each pod, in
// the order in which their pods first failed; and the last report of each pending pod.
// Reported failures whose explanation is outdated come after all others. Its methods may be
// called from any goroutine.
type failureQueue struct {
	mu         sync.Mutex
	waiting    line
	outdated   line
	reported   map[string]report  // by UID, of pending pods
	explained  map[string]failure // by UID: the last report, where an attempt explained it
	explaining string             // UID of the pod whose failure is being explained
	writing    map[string]bool    // UIDs of the pods whose reports are being written
	written    *sync.Cond         // a report is written
	arrived    chan struct{}
}

// failure is a pod that was not scheduled. If message is empty, attempt explains the failure when
// it is reported. reason is the reason in the condition.
type failure struct {
	pod             *sched.Pod
	reason, message string
	attempt         *attempt
	tries           int       // to write the condition; the event is written before the first one
	added           time.Time // since when the pod has had a failure that is not reported
}

// attempt is one failed attempt to place a pod, together with its gang.
type attempt struct {
	pod   *sched.Pod
	since time.Time // explanations made before it do not count; zero accepts any
	why   string    // "" until it is explained; used by Run only
}

// explain returns why the attempt failed. It calls f once for the whole gang.
func (a *attempt) explain(f func(*sched.Pod) string) string {
	if a.why == "" {
		a.why = f(a.pod)
	}
	return a.why
}

// action returns the event's action. It is different for the two kinds of failures, because within
// six minutes the recorder merges events that differ only in their message, and keeps the first
// message.
// Source: k8s.io/client-go/tools/events, getKey.
func (f failure) action() string {
	if f.reason == corev1.PodReasonSchedulerError {
		return "Binding"
	}
	return "Scheduling"
}

// report is the last message that was reported for a pod.
type report struct {
	message string
	at      time.Time
}

func newFailureQueue() *failureQueue {
	q := &failureQueue{
		waiting: newLine(), outdated: newLine(), reported: map[string]report{}, explained: map[string]failure{}, writing: map[string]bool{},
		arrived: make(chan struct{}, 1),
	}
	q.written = sync.NewCond(&q.mu)
	return q
}

func (q *failureQueue) add(f failure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outdated.remove(f.pod.UID)
	if f.added = time.Now(); q.waiting.has(f.pod.UID) {
		f.added = q.waiting.failures[f.pod.UID].added
	}
	q.waiting.add(f)
	signal(q.arrived)
}

// suppress drops a pod's failure, and waits while its report is being written.
func (q *failureQueue) suppress(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(uid)
	for q.writing[uid] {
		q.written.Wait()
	}
}

// forget drops a pod's failure and its last report.
func (q *failureQueue) forget(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(uid)
	delete(q.reported, uid)
}

// drop removes a failure whose report is not being written. The caller holds q.mu.
func (q *failureQueue) drop(uid string) {
	q.waiting.remove(uid)
	q.outdated.remove(uid)
	delete(q.explained, uid)
	if q.explaining == uid {
		q.explaining = ""
	}
}

// next waits for the next failure, and returns false when ctx ends.
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

func (q *failureQueue) pop() (failure, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f, ok := q.waiting.pop()
	if !ok {
		f, ok = q.outdated.pop()
	}
	if ok {
		q.explaining = f.pod.UID
	}
	return f, ok
}

// beginWrite reports whether to write the failure. It returns false if the pod was suppressed or
// forgotten while the failure was explained.
func (q *failureQueue) beginWrite(f failure) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.writing[f.pod.UID] { // an earlier one, which this one must not overtake
		q.written.Wait()
	}
	if q.explaining != f.pod.UID {
		return false
	}
	q.explaining, q.writing[f.pod.UID] = "", true
	if delete(q.explained, f.pod.UID); f.attempt != nil {
		q.explained[f.pod.UID] = f
	}
	return true
}

func (q *failureQueue) endWrite(f failure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.writing, f.pod.UID)
	q.written.Broadcast()
}

const (
	// minRetry and maxRetry bound the time after which a condition is written again that could not
	// be written. It doubles.
	minRetry, maxRetry = time.Second, time.Minute
)

// later adds a failure again whose condition could not be written, unless the pod has another report
// by then, or needs none.
func (q *failureQueue) later(f failure) {
	delay := min(maxRetry, minRetry<<min(f.tries, 10))
	f.tries++
	time.AfterFunc(delay, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		last, pending := q.reported[f.pod.UID]
		if !pending || q.waiting.has(f.pod.UID) || last.message != f.message {
			return
		}
		q.waiting.add(f)
		signal(q.arrived)
	})
}

// recordReport records what is reported for a pod now, and returns the report before.
func (q *failureQueue) recordReport(f failure) (before report, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, known = q.reported[f.pod.UID]
	if !known || before.message != f.message || time.Since(before.at) >= repeatAfter {
		q.reported[f.pod.UID] = report{f.message, time.Now()}
	}
	return before, known
}

// lastReport returns the message that was reported last for a pod.
func (q *failureQueue) lastReport(uid string) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reported[uid].message
}

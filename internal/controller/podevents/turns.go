package podevents

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// turns holds the failures of which nobody was told yet, one a pod and the newest
// of it, in the order in which they came, and what was said of each pod that is
// pending. Its methods may be called from any goroutine.
type turns struct {
	mu      sync.Mutex
	waiting map[string]failure // by UID
	order   []string           // of UIDs, those that wait no more among them
	said    map[string]saying  // of pods that are pending
	turn    string             // UID of the pod whose failure is being explained
	telling string             // UID of the pod whose author is being told
	told    *sync.Cond         // nobody is being told
	arrived chan struct{}
}

// failure is a pod whose author is to be told; where there is no message, why a try
// failed is found out when its turn comes. The reason is that of the condition.
type failure struct {
	pod             *sched.Pod
	reason, message string
	try             *try
}

// try is a pod that was tried in vain, and with it those that it stands for.
type try struct {
	of  *sched.Pod
	why string // once it is found out; Run's
}

// explained finds out why it failed, once for all whom that concerns.
func (t *try) explained(explain func(*sched.Pod) string) string {
	if t.why == "" {
		t.why = explain(t.of)
	}
	return t.why
}

// action is a word for what failed. Within six minutes the recorder counts events
// that differ in their message only as one, and keeps the first message.
// Source: k8s.io/client-go/tools/events, getKey.
func (f failure) action() string {
	if f.reason == corev1.PodReasonSchedulerError {
		return "Binding"
	}
	return "Scheduling"
}

// saying is what was said of a pod, and when.
type saying struct {
	message string
	at      time.Time
}

func newTurns() *turns {
	t := &turns{waiting: map[string]failure{}, said: map[string]saying{}, arrived: make(chan struct{}, 1)}
	t.told = sync.NewCond(&t.mu)
	return t
}

func (t *turns) add(f failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.waiting[f.pod.UID]; !ok {
		t.order = append(t.order, f.pod.UID)
	}
	t.waiting[f.pod.UID] = f
	select {
	case t.arrived <- struct{}{}:
	default:
	}
}

// hush drops a pod's failure, and waits until its author is being told no more.
func (t *turns) hush(uid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(uid)
	for t.telling == uid {
		t.told.Wait()
	}
}

// forget drops a pod's failure and what was said of it.
func (t *turns) forget(uid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(uid)
	delete(t.said, uid)
}

// drop forgets a failure of which nobody was told yet. It needs t.mu.
func (t *turns) drop(uid string) {
	delete(t.waiting, uid)
	if t.turn == uid {
		t.turn = ""
	}
}

// next waits for the failure whose turn it is, and returns false when ctx ends.
func (t *turns) next(ctx context.Context) (failure, bool) {
	for {
		if f, ok := t.first(); ok {
			return f, ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return failure{}, false
		case <-t.arrived:
		}
	}
}

func (t *turns) first() (failure, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.order) > 0 {
		uid := t.order[0]
		t.order = t.order[1:]
		if f, ok := t.waiting[uid]; ok {
			delete(t.waiting, uid)
			t.turn = uid
			return f, true
		}
	}
	return failure{}, false
}

// begin reports whether the pod is still to be told of: not where it was hushed
// or forgotten while its failure was explained.
func (t *turns) begin(f failure) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != f.pod.UID {
		return false
	}
	t.turn, t.telling = "", f.pod.UID
	return true
}

func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.telling = ""
	t.told.Broadcast()
}

// say notes what is said of a pod, and returns what was said before.
func (t *turns) say(f failure) (before saying, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known = t.said[f.pod.UID]
	if !known || before.message != f.message || time.Since(before.at) >= again {
		t.said[f.pod.UID] = saying{f.message, time.Now()}
	}
	return before, known
}

// last returns what was said of a pod last.
func (t *turns) last(uid string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said[uid].message
}

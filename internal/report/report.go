package report

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/numalet/numalet/pkg/sched"
)

const (
	// share of one CPU that explanations may take: each costs O(nodes).
	share = 10
	// again is how soon a pod's author is told the same again: events expire.
	again = 10 * time.Minute
)

// Reporter writes events and conditions. Its methods may be called from any
// goroutine, and return at once.
type Reporter struct {
	client      kubernetes.Interface
	explain     func(*sched.Pod) string
	broadcaster events.EventBroadcaster // of failures, which come again
	news        *news

	mu struct {
		sync.Mutex
		waiting map[string]failure // by UID
		order   []string           // of UIDs
		said    map[string]saying  // of pods that are pending
		next    string             // UID of the pod whose failure is being explained
		telling string             // UID of the pod whose author is being told
	}
	told    *sync.Cond // nobody is being told
	arrived chan struct{}
}

// failure is a pod whose author is to be told; an empty message is found out by
// explain when its turn comes. The reason is that of the condition.
type failure struct {
	pod             *sched.Pod
	reason, message string
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

type saying struct {
	message string
	at      time.Time
}

// Env is what a reporter writes with.
type Env struct {
	Client  kubernetes.Interface
	Post    func(context.Context, *eventsv1.Event) error // writes an event of a pod that is bound
	Explain func(*sched.Pod) string                      // says why no node suits a pod; called by Run only
}

// New returns a reporter that writes events until ctx ends.
func New(ctx context.Context, env Env) (*Reporter, error) {
	news, err := newNews(env.Post)
	if err != nil {
		return nil, err
	}
	r := &Reporter{client: env.Client, explain: env.Explain, news: news, arrived: make(chan struct{}, 1)}
	r.told = sync.NewCond(&r.mu)
	r.mu.waiting, r.mu.said = map[string]failure{}, map[string]saying{}
	r.broadcaster = events.NewBroadcaster(&events.EventSinkImpl{Interface: env.Client.EventsV1()})
	return r, r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

// Scheduled says that a pod is bound.
func (r *Reporter) Scheduled(d sched.Decision) {
	r.news.add(scheduled{d.Pod, d.At.Node, time.Now()})
}

// Unschedulable says that no node suits a pod, and why.
func (r *Reporter) Unschedulable(pod *sched.Pod) {
	r.fail(failure{pod: pod, reason: corev1.PodReasonUnschedulable})
}

// Refused says that a pod asks for what nobody can give.
func (r *Reporter) Refused(pod *sched.Pod, err error) {
	r.fail(failure{pod, corev1.PodReasonUnschedulable, err.Error()})
}

// Failed says that a pod has a node and could not be bound to it.
func (r *Reporter) Failed(pod *sched.Pod, err error) {
	r.fail(failure{pod, corev1.PodReasonSchedulerError, err.Error()})
}

// Hush returns once nothing more is written of a pod as pending, for it is about
// to be bound: the API server notes that in the same condition. It waits for what
// is being written of that very pod.
func (r *Reporter) Hush(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(uid)
	for r.mu.telling == uid {
		r.told.Wait()
	}
}

// Forget drops what is known of a pod that is pending no more.
func (r *Reporter) Forget(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(uid)
	delete(r.mu.said, uid)
}

// drop forgets a failure of which nobody was told yet. It needs r.mu.
func (r *Reporter) drop(uid string) {
	delete(r.mu.waiting, uid)
	if r.mu.next == uid {
		r.mu.next = ""
	}
}

func (r *Reporter) fail(f failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mu.waiting[f.pod.UID]; !ok {
		r.mu.order = append(r.mu.order, f.pod.UID)
	}
	r.mu.waiting[f.pod.UID] = f
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// Run tells authors until ctx ends: of pods that are bound as fast as they are, and
// of failures one after another. After each of these it rests, so that
// explanations cost a share of a CPU and no more.
func (r *Reporter) Run(ctx context.Context) error {
	var bound sync.WaitGroup
	bound.Go(func() { r.news.run(ctx) })
	defer bound.Wait()
	for {
		f, ok := r.next(ctx)
		if !ok {
			r.broadcaster.Shutdown()
			return nil
		}
		began := time.Now()
		if f.message == "" {
			f.message = r.explain(f.pod)
		}
		took := time.Since(began)
		if r.begin(f) {
			r.tell(ctx, f)
			r.end()
		}
		rest(ctx, (share-1)*took)
	}
}

// next waits for the failure whose turn it is, and returns false when ctx ends.
func (r *Reporter) next(ctx context.Context) (failure, bool) {
	for {
		if f, ok := r.first(); ok {
			return f, ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return failure{}, false
		case <-r.arrived:
		}
	}
}

func (r *Reporter) first() (failure, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.mu.order) > 0 {
		uid := r.mu.order[0]
		r.mu.order = r.mu.order[1:]
		if f, ok := r.mu.waiting[uid]; ok {
			delete(r.mu.waiting, uid)
			r.mu.next = uid
			return f, true
		}
	}
	return failure{}, false
}

// begin reports whether the pod is still to be told of: not where it was hushed
// or forgotten while its failure was explained.
func (r *Reporter) begin(f failure) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.next != f.pod.UID {
		return false
	}
	r.mu.next, r.mu.telling = "", f.pod.UID
	return true
}

func (r *Reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.telling = ""
	r.told.Broadcast()
}

// tell writes the event, and the condition where it is another than before.
func (r *Reporter) tell(ctx context.Context, f failure) {
	before, known := r.say(f)
	if known && before.message == f.message && time.Since(before.at) < again {
		return
	}
	r.recorder(f.pod).Eventf(ref(f.pod), nil, corev1.EventTypeWarning, "FailedScheduling", f.action(), "%s", f.message)
	if known && before.message == f.message {
		return
	}
	if err := r.mark(ctx, f); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "the pod's author learns of it by the event only")
	}
}

// say notes what is said of a pod, and returns what was said before.
func (r *Reporter) say(f failure) (before saying, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known = r.mu.said[f.pod.UID]
	if !known || before.message != f.message || time.Since(before.at) >= again {
		r.mu.said[f.pod.UID] = saying{f.message, time.Now()}
	}
	return before, known
}

func (r *Reporter) recorder(pod *sched.Pod) events.EventRecorder {
	return r.broadcaster.NewRecorder(scheme.Scheme, pod.Profile)
}

func ref(pod *sched.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

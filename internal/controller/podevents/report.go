package podevents

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
	turns       *turns
}

// Env is what a reporter writes with.
type Env struct {
	Client kubernetes.Interface
	Post   func(context.Context, ...*eventsv1.Event) error // writes events of pods that are bound
	// Explain says why no node suits a pod, or too few those that it stands for; called
	// by Run only.
	Explain func(*sched.Pod) string
}

// New returns a reporter that writes events until ctx ends.
func New(ctx context.Context, env Env) (*Reporter, error) {
	news, err := newNews(env.Post)
	if err != nil {
		return nil, err
	}
	r := &Reporter{client: env.Client, explain: env.Explain, news: news, turns: newTurns()}
	r.broadcaster = events.NewBroadcaster(&events.EventSinkImpl{Interface: env.Client.EventsV1()})
	return r, r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

// Scheduled says that a pod is bound.
func (r *Reporter) Scheduled(d sched.Decision) {
	r.news.add(scheduled{d.Pod, d.At.Node, time.Now()})
}

// Unschedulable says that no node suits a pod, or too few those that it stands for, and
// why.
func (r *Reporter) Unschedulable(pod *sched.Pod) {
	pods, _ := pod.Together()
	one := &try{of: pod}
	for _, p := range pods {
		r.turns.add(failure{pod: p, reason: corev1.PodReasonUnschedulable, try: one})
	}
}

// Refused says that a pod asks for what nobody can give.
func (r *Reporter) Refused(pod *sched.Pod, err error) {
	r.turns.add(failure{pod: pod, reason: corev1.PodReasonUnschedulable, message: err.Error()})
}

// Waits says that others come before a pod, and which.
func (r *Reporter) Waits(pod *sched.Pod, why string) {
	r.turns.add(failure{pod: pod, reason: corev1.PodReasonUnschedulable, message: why})
}

// Said returns what the author of a pending pod was told last, or "".
func (r *Reporter) Said(uid string) string { return r.turns.last(uid) }

// Failed says that a pod has a node and could not be bound to it.
func (r *Reporter) Failed(pod *sched.Pod, err error) {
	r.turns.add(failure{pod: pod, reason: corev1.PodReasonSchedulerError, message: err.Error()})
}

// Hush returns once nothing more is written of a pod as pending, for it is about
// to be bound: the API server notes that in the same condition. It waits for what
// is being written of that very pod.
func (r *Reporter) Hush(uid string) { r.turns.hush(uid) }

// Forget drops what is known of a pod that is pending no more.
func (r *Reporter) Forget(uid string) { r.turns.forget(uid) }

// Run tells authors until ctx ends: of pods that are bound as fast as they are, and
// of failures one after another. After each of these it rests, so that
// explanations cost a share of a CPU and no more.
func (r *Reporter) Run(ctx context.Context) error {
	var bound sync.WaitGroup
	bound.Go(func() { r.news.run(ctx) })
	defer bound.Wait()
	for {
		f, ok := r.turns.next(ctx)
		if !ok {
			r.broadcaster.Shutdown()
			return nil
		}
		began := time.Now()
		if f.message == "" {
			f.message = f.try.explained(r.explain)
		}
		took := time.Since(began)
		if r.turns.begin(f) {
			r.tell(ctx, f)
			r.turns.end()
		}
		rest(ctx, (share-1)*took)
	}
}

// tell writes the event, and the condition where it is another than before.
func (r *Reporter) tell(ctx context.Context, f failure) {
	before, known := r.turns.say(f)
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

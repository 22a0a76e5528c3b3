package podevents

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	recordutil "k8s.io/client-go/tools/record/util"

	"github.com/numalet/numalet/pkg/sched"
)

const (
	// writers is how many events are being written at one time. The API server
	// serves them and binds alike, so that with many under way pods would wait for
	// the news of others; with too few the news would wait for ever.
	writers = 2
	// helpers are how many more there are while nothing was bound for a lull, until
	// nothing waits: the news has the API server to itself then.
	helpers = 6
	lull    = 50 * time.Millisecond
	// together is how many of those that wait are written at one go.
	together = 16
	// backlog is how many may wait; beyond it they are dropped.
	backlog = 1 << 14
	// farewell is how long what waits may take once the context ends.
	farewell = 5 * time.Second
)

// news writes the event of each pod that is bound, behind the binds. It happens
// once to a pod, so there is nothing to count or to merge: client-go's recorder,
// which starts a goroutine for each event and keeps it for 6 to 12 minutes in
// case it comes again, would hold hundreds of megabytes after some minutes of a
// thousand binds a second.
type news struct {
	post  func(context.Context, ...*eventsv1.Event) error
	host  string
	queue chan scheduled
	last  atomic.Int64 // when a pod was bound, in Unix nanoseconds
	calm  *time.Timer  // a lull since, where many wait
}

// scheduled is a pod that was bound, and when.
type scheduled struct {
	pod  *sched.Pod
	node string
	at   time.Time
}

func newNews(post func(context.Context, ...*eventsv1.Event) error) (*news, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name the reporter: %w", err)
	}
	return &news{post: post, host: host, queue: make(chan scheduled, backlog), calm: time.NewTimer(lull)}, nil
}

// add takes an event up, or drops it where too many wait. It returns at once.
func (n *news) add(s scheduled) {
	n.last.Store(s.at.UnixNano())
	select {
	case n.queue <- s:
	default:
	}
	if len(n.queue) > writers*together {
		n.calm.Reset(lull)
	}
}

// run writes events until ctx ends, and then for a moment what still waits.
func (n *news) run(ctx context.Context) {
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() { n.write(ctx) })
	}
	wg.Go(func() { n.hurry(ctx) })
	wg.Wait()
}

// hurry has helpers write in lulls.
func (n *news) hurry(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.calm.C:
		}
		var wg sync.WaitGroup
		for range helpers {
			wg.Go(func() { n.help(ctx) })
		}
		wg.Wait()
	}
}

// help writes events until nothing waits, ctx ends or pods are being bound.
func (n *news) help(ctx context.Context) {
	for ctx.Err() == nil && time.Since(time.Unix(0, n.last.Load())) >= lull {
		select {
		case s := <-n.queue:
			n.tell(ctx, n.with(s))
		default:
			return
		}
	}
}

func (n *news) write(ctx context.Context) {
	for {
		select {
		case s := <-n.queue:
			n.tell(ctx, n.with(s))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			defer cancel()
			n.drain(last)
			return
		}
	}
}

func (n *news) drain(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case s := <-n.queue:
			n.tell(ctx, n.with(s))
		default:
			return
		}
	}
}

// with returns the events of a pod and of those that wait behind it.
func (n *news) with(s scheduled) []*eventsv1.Event {
	all := append(make([]*eventsv1.Event, 0, together), n.event(s))
	for len(all) < together {
		select {
		case s = <-n.queue:
			all = append(all, n.event(s))
		default:
			return all
		}
	}
	return all
}

// tell writes events. It is no loss if that fails: where a pod is stands in the
// pod.
func (n *news) tell(ctx context.Context, all []*eventsv1.Event) {
	if err := n.post(ctx, all...); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("events not written", "of", len(all), "error", err.Error())
	}
}

func (n *news) event(s scheduled) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.pod.Namespace, Name: s.eventName()},
		EventTime:  metav1.NewMicroTime(s.at), Type: corev1.EventTypeNormal, Reason: "Scheduled", Action: "Binding",
		ReportingController: s.pod.Profile, ReportingInstance: s.pod.Profile + "-" + n.host,
		Regarding: *ref(s.pod), Note: "Successfully assigned " + s.pod.String() + " to " + s.node,
	}
}

// eventName returns the name that client-go would give the event, without asking
// whether it may be one: a pod's name may, and a dot and digits may follow, but for
// its length.
func (s scheduled) eventName() string {
	name := s.pod.Name + "." + strconv.FormatInt(s.at.UnixNano(), 16)
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return recordutil.GenerateEventName(s.pod.Name, s.at.UnixNano())
	}
	return name
}

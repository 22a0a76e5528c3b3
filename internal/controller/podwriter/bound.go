package podwriter

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

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

const (
	// Usually only one goroutine writes the events of bound pods. extraWriters is the number of
	// extra goroutines. They write events, too, in two cases: when the queue of events is at least
	// half full, or in a pause between Bindings when many events wait (see longQueue). A pause
	// begins idleGap after the last Binding. The extra goroutines do not write all the time,
	// because the API server handles events and Bindings with equal priority, so concurrent events
	// would delay Bindings. In a pause, events delay no Binding. Late events do less harm than late
	// Bindings.
	extraWriters = 16
	idleGap      = 50 * time.Millisecond
	// queueSize is the number of events that may wait to be written. When so many events wait, the
	// event of the next bound pod is dropped.
	queueSize = 1 << 14
	// In a pause between Bindings, the extra goroutines (see extraWriters) write events only if more
	// than longQueue events wait.
	longQueue = 32
	// drainTimeout limits how long waiting events are written when the process ends.
	drainTimeout = 5 * time.Second
)

// boundEvents writes the event Scheduled of each bound pod, after the pod's Binding. It does not
// use client-go's event recorder. The recorder merges equal events, which is of no use here,
// because a pod is bound only once. The recorder would also start a goroutine for each event, and
// keep the event for 6 to 12 minutes. At 1,000 Bindings a second, this would take hundreds of
// megabytes.
type boundEvents struct {
	create    func(context.Context, *eventsv1.Event) error
	host      string
	queue     chan boundPod
	began     time.Time     // times since then are measured with the monotonic clock, so that it does not matter if the system clock is set
	lastBound atomic.Int64  // time of the last Binding in nanoseconds since the field `began`
	idle      *time.Timer   // wakes all extra writers after idleGap; the method `add` restarts it for each bound pod while more than longQueue events wait
	more      chan struct{} // each element wakes one extra writer
}

// boundPod has what the event of a bound pod says. It does not hold the sched.Pod: that would keep
// the whole pending pod in memory for as long as the event waits to be written.
type boundPod struct {
	namespace, name, uid, profile, node string
	at                                  time.Time // when the pod was bound
}

func newBoundPod(pod *sched.Pod, node string, at time.Time) boundPod {
	return boundPod{pod.Namespace, pod.Name, pod.UID, pod.Profile, node, at}
}

func (p boundPod) String() string { return p.namespace + "/" + p.name }

func newBoundEvents(create func(context.Context, *eventsv1.Event) error) (*boundEvents, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("read the host name for events: %w", err)
	}
	b := &boundEvents{began: time.Now(), create: create, host: host, queue: make(chan boundPod, queueSize), more: make(chan struct{}, extraWriters)}
	b.lastBound.Store(int64(-idleGap))
	b.idle = time.AfterFunc(idleGap, func() {
		for range extraWriters {
			signal(b.more)
		}
	})
	return b, nil
}

// add queues the event of a bound pod, or drops the event if the queue is full. It returns at
// once.
func (b *boundEvents) add(p boundPod) {
	b.lastBound.Store(int64(time.Since(b.began)))
	select {
	case b.queue <- p:
	default:
	}
	waiting := len(b.queue)
	if waiting > longQueue {
		b.idle.Reset(idleGap)
	}
	if waiting >= cap(b.queue)/2 {
		signal(b.more)
	}
}

// binding reports whether a pod was bound less than idleGap ago.
func (b *boundEvents) binding() bool {
	return time.Since(b.began)-time.Duration(b.lastBound.Load()) < idleGap
}

// run writes events until ctx is done. It then writes the events that still wait, for at most
// drainTimeout.
func (b *boundEvents) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { b.writeAll(ctx) })
	for range extraWriters {
		wg.Go(func() { b.writeExtra(ctx) })
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	for range extraWriters {
		wg.Go(func() { b.drain(ctx, func() bool { return true }) })
	}
	wg.Wait()
}

// writeAll writes events, one after another, and waits for the next event when the queue is empty.
// It returns when ctx is done.
func (b *boundEvents) writeAll(ctx context.Context) {
	for {
		select {
		case p := <-b.queue:
			b.write(ctx, p)
		case <-ctx.Done():
			return
		}
	}
}

// writeExtra is an extra writer. When it is woken, it writes events until the queue is empty. If a
// pod was bound less than idleGap ago and the queue is less than half full, it stops early, and
// waits until it is woken again. It returns when ctx is done.
func (b *boundEvents) writeExtra(ctx context.Context) {
	needed := func() bool {
		return !b.binding() || len(b.queue) >= cap(b.queue)/2
	}
	for {
		select {
		case <-b.more:
			b.drain(ctx, needed)
		case <-ctx.Done():
			return
		}
	}
}

// drain writes events until the queue is empty, ctx is done, or the function `more` (a parameter)
// returns false.
func (b *boundEvents) drain(ctx context.Context, more func() bool) {
	for ctx.Err() == nil && more() {
		select {
		case p := <-b.queue:
			b.write(ctx, p)
		default:
			return
		}
	}
}

// write writes the event of a bound pod. If this fails, the event is lost. The loss does no harm,
// because the node is also in the pod's spec.nodeName.
func (b *boundEvents) write(ctx context.Context, p boundPod) {
	if err := b.create(ctx, b.event(p)); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("event not written", "pod", p.String(), "error", err.Error())
	}
}

func (b *boundEvents) event(p boundPod) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.eventName()},
		EventTime:  metav1.NewMicroTime(p.at), Type: corev1.EventTypeNormal, Reason: v1alpha1.EventScheduled, Action: "Binding",
		ReportingController: p.profile, ReportingInstance: p.profile + "-" + b.host,
		Regarding: *podReference(p.namespace, p.name, p.uid), Note: "Successfully assigned " + p.String() + " to " + p.node,
	}
}

// eventName returns the name that client-go's recorder would choose for the event of a bound pod.
// To save time, it calls client-go's function only for long names. That function also checks that
// the name is valid. Short names need no check, because a pod's name, a dot and hexadecimal digits
// together are valid.
func (p boundPod) eventName() string {
	name := p.name + "." + strconv.FormatInt(p.at.UnixNano(), 16)
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return recordutil.GenerateEventName(p.name, p.at.UnixNano())
	}
	return name
}

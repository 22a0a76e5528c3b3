package podevents

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	recordutil "k8s.io/client-go/tools/record/util"

	"github.com/numalet/numalet/pkg/sched"
)

// TestNews: what waits at the end is written, and what is beyond the backlog is
// dropped.
func TestNews(t *testing.T) {
	var written atomic.Int32
	post := func(_ context.Context, all ...*eventsv1.Event) error { written.Add(int32(len(all))); return nil }
	n := newsBy(t, post)
	n.queue = make(chan scheduled, 3)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		n.add(scheduled{pod(name), "n1", time.Now()})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n.run(ctx)
	if got := written.Load(); got != 3 {
		t.Errorf("%d events are written, want 3", got)
	}
}

// newsBy returns news that are written so.
func newsBy(t *testing.T, post func(context.Context, ...*eventsv1.Event) error) *news {
	t.Helper()
	n, err := newNews(post)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLull: while pods are being bound few events are under way, and in a lull
// more, until all are written or the next pods are bound.
func TestLull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, written atomic.Int32
		n := newsBy(t, func(_ context.Context, all ...*eventsv1.Event) error {
			most.Store(max(most.Load(), under.Add(1)))
			time.Sleep(20 * time.Millisecond)
			written.Add(int32(len(all)))
			under.Add(-1)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go n.run(ctx)
		binds := func(count int) {
			for range count {
				n.add(scheduled{pod("a"), "n1", time.Now()})
				time.Sleep(time.Millisecond / 4)
			}
		}
		var got []int32
		pass := func(d time.Duration) {
			most.Store(0)
			time.Sleep(d)
			got = append(got, most.Load())
		}
		binds(2000)
		pass(lull - time.Millisecond)
		pass(2 * lull)
		binds(100) // which takes longer than what is under way
		pass(lull - time.Millisecond)
		pass(10 * lull)
		pass(lull)
		if diff := cmp.Diff([]int32{writers, writers + helpers, writers, writers + helpers, 0}, got); diff != "" {
			t.Errorf("rows under way up to the lull, in it, after more binds, in the next lull and at the end (-want +got):\n%s", diff)
		}
		if got := written.Load(); got != 2100 {
			t.Errorf("%d events are written, want 2100", got)
		}
	})
}

// TestTogether: of those that wait, many are written at one go, in their order.
func TestTogether(t *testing.T) {
	var gone [][]string
	post := func(_ context.Context, all ...*eventsv1.Event) error {
		var names []string
		for _, e := range all {
			names = append(names, e.Regarding.Name)
		}
		gone = append(gone, names)
		return nil
	}
	n := newsBy(t, post)
	var want [][]string
	for i := range 2*together + 1 {
		n.add(scheduled{pod(fmt.Sprint(i)), "n1", time.Now()})
		if i%together == 0 {
			want = append(want, nil)
		}
		want[i/together] = append(want[i/together], fmt.Sprint(i))
	}
	n.drain(t.Context())
	if diff := cmp.Diff(want, gone); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestEventName: it is client-go's, and the API server accepts it however long the
// pod's name is.
func TestEventName(t *testing.T) {
	now := time.Now()
	for _, n := range []int{1, 9, 200, 236, 237, 253} {
		s := scheduled{pod: &sched.Pod{Name: strings.Repeat("a", n)}, at: now}
		got := s.eventName()
		if want := recordutil.GenerateEventName(s.pod.Name, now.UnixNano()); n < 237 && got != want {
			t.Errorf("event of a pod with a name of %d letters: %q, want %q", n, got, want)
		}
		if wrong := validation.IsDNS1123Subdomain(got); wrong != nil {
			t.Errorf("event of a pod with a name of %d letters: %q: %v", n, got, wrong)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	n, s := &news{host: "host"}, scheduled{&sched.Pod{Namespace: "perf", Name: "pod-00042", UID: "6f3ad70e"}, "node-00042", time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		n.event(s)
	}
}

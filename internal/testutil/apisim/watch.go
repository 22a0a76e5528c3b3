package apisim

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher sends changes to one client that watches a resource. A watcher is the body of the HTTP
// response to the watch request.
type watcher struct {
	conn     *Conn
	request  *request
	wants    selection
	position uint64 // resource version of the last change that the method `step` has handled
	changed  chan struct{}
	closed   chan struct{}
	once     sync.Once

	mu    sync.Mutex
	sent  []byte
	err   error // the error that Read returns after the last byte of the field `sent`
	ready chan struct{}
}

// open answers a watch request with a response whose body is a watcher.
func (c *Conn) open(q *request) *http.Response {
	query, s := q.URL.Query(), c.server
	wants, err := newSelection(q.namespace, query.Get("labelSelector"), query.Get("fieldSelector"))
	if err != nil {
		return c.status(q, apierrors.NewBadRequest(err.Error()))
	}
	w := &watcher{conn: c, request: q, wants: wants, changed: make(chan struct{}, 1), closed: make(chan struct{}), ready: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	initial := query.Get("sendInitialEvents") == "true"
	if initial {
		w.position = s.cached(q.resource, query.Get("resourceVersion"))
		w.list()
	} else if w.position, err = strconv.ParseUint(query.Get("resourceVersion"), 10, 64); err != nil || w.position == 0 {
		return c.status(q, apierrors.NewBadRequest("apisim watches only from a version"))
	}
	if !initial && s.faults.one(.1, "watch", "410 at its start") != "" {
		return c.status(q, apierrors.NewResourceExpired("too old resource version"))
	}
	s.store(q.resource).watchers[w] = true
	w.notify()
	ends := answerTimeout
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		ends = time.Duration(seconds) * time.Second
	}
	go w.run(ends)
	media := q.media
	if media == runtime.ContentTypeProtobuf {
		media += ";stream=watch"
	}
	answer := respond(q, http.StatusOK, media, nil)
	answer.Body = w
	return answer
}

// list sends all selected objects as added, and then a bookmark. The caller holds the server's mu.
func (w *watcher) list() {
	s, q := w.conn.server, w.request
	for _, v := range s.items(q.resource, w.position, w.wants) {
		w.frame(watch.Added, s.encoding(v, q.media))
	}
	w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}

// bookmark sends a bookmark with the resource version w.position and these annotations. The caller
// holds the server's mu.
func (w *watcher) bookmark(annotations map[string]string) {
	s, q := w.conn.server, w.request
	o, err := s.scheme.New(s.kinds[q.resource])
	if err != nil {
		panic(err)
	}
	mark := o.(Object)
	mark.GetObjectKind().SetGroupVersionKind(s.kinds[q.resource])
	mark.SetResourceVersion(strconv.FormatUint(w.position, 10))
	mark.SetAnnotations(annotations)
	w.frame(watch.Bookmark, s.encode(mark, q.media))
}

// frame sends one watch event.
func (w *watcher) frame(kind watch.EventType, object []byte) {
	info, _ := runtime.SerializerInfoForMediaType(w.conn.server.codecs.SupportedMediaTypes(), w.request.media)
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object}}
	if err := info.StreamSerializer.Encode(event, info.StreamSerializer.Framer.NewFrameWriter(&b)); err != nil {
		panic(err)
	}
	w.send(b.Bytes(), nil)
}

// send appends bytes to what the client reads. If err is not nil, the client gets err after these
// bytes, and nothing more is sent.
func (w *watcher) send(more []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.sent, w.err = append(w.sent, more...), err
	}
	signal(w.ready)
}

// notify wakes the method `run`, because there may be new changes.
func (w *watcher) notify() { signal(w.changed) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run sends changes until the watch ends: when the client closes it or is killed, when a fault ends
// it, or after the duration d.
func (w *watcher) run(d time.Duration) {
	defer w.leave()
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		select {
		case <-w.changed:
		case <-over.C:
			w.send(nil, io.EOF)
			return
		case <-w.conn.down:
			w.send(nil, errReset)
			return
		case <-w.closed:
			return
		case <-w.request.Context().Done():
			w.send(nil, w.request.Context().Err())
			return
		}
		if d := w.conn.parted(w.request); d > 0 {
			w.conn.server.faults.lost(w.request, "parted")
			w.pause(d)
		}
		w.pause(w.conn.server.faults.upTo(latency))
		if !w.step() {
			return
		}
	}
}

// step sends the client the changes since the last step, or injects a fault. It returns false if
// the watch has ended.
func (w *watcher) step() bool {
	s := w.conn.server
	s.mu.Lock()
	stored := s.store(w.request.resource)
	changes, ok := stored.since(w.position)
	s.mu.Unlock()
	if !ok {
		w.expire()
		return false
	}
	if len(changes) == 0 {
		return true
	}
	rest := len(changes)
	fault := s.faults.one(s.faults.Stream, "watch", "dropped", "cut in a change", "expired", "error 500", "late")
	switch fault {
	case "late":
		w.pause(s.faults.upTo(8 * time.Second))
	case "":
	default:
		rest = int(s.faults.upTo(time.Duration(len(changes) + 1)))
	}
	s.mu.Lock()
	for _, c := range changes[:rest] {
		w.tell(c)
	}
	if fault == "" && s.faults.upTo(20) == 0 {
		w.bookmark(nil)
	}
	s.mu.Unlock()
	if rest < len(changes) || fault == "late" {
		w.notify()
	}
	switch fault {
	case "dropped":
		w.send(nil, io.EOF)
	case "cut in a change":
		w.send([]byte{0, 0, 1}, io.ErrUnexpectedEOF)
	case "expired":
		w.expire()
	case "error 500":
		w.fail(apierrors.NewInternalError(io.ErrNoProgress).Status())
	default:
		return true
	}
	return false
}

// tell sends a change. If the object matches the client's selection only since this change, tell
// sends it as added. If the object no longer matches, tell sends it as deleted. The caller holds
// the server's mu.
func (w *watcher) tell(c change) {
	w.position = c.after.number
	before, after := w.wants.has(c.before), !c.deleted && w.wants.has(c.after)
	s, media := w.conn.server, w.request.media
	switch {
	case before && after:
		w.frame(watch.Modified, s.encoding(c.after, media))
	case after:
		w.frame(watch.Added, s.encoding(c.after, media))
	case before && c.deleted:
		w.frame(watch.Deleted, s.encoding(c.after, media))
	case before: // no longer selected: send the last selected state, with the resource version of the change
		last := c.before.DeepCopyObject().(Object)
		last.SetResourceVersion(c.after.GetResourceVersion())
		w.frame(watch.Deleted, s.encode(last, media))
	}
}

// expire ends the watch with the error "too old resource version". An API server returns this error
// if it no longer has all changes since the last change that the watch has sent.
func (w *watcher) expire() { w.fail(apierrors.NewResourceExpired("too old resource version").Status()) }

func (w *watcher) fail(status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.frame(watch.Error, w.conn.server.encode(&status, w.request.media))
	w.send(nil, io.EOF)
}

// pause waits for d, or until the client has closed the watch or was killed.
func (w *watcher) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.closed:
	case <-w.conn.down:
	case <-w.request.Context().Done():
	}
}

func (w *watcher) leave() {
	s := w.conn.server
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.store(w.request.resource).watchers, w)
}

// Read waits for changes and returns them as encoded watch events. The client calls it to read the
// body of the response.
func (w *watcher) Read(to []byte) (int, error) {
	for {
		w.mu.Lock()
		n := copy(to, w.sent)
		w.sent = w.sent[n:]
		err := w.err
		if n > 0 || err != nil {
			w.mu.Unlock()
			if n > 0 {
				err = nil
			}
			return n, err
		}
		w.mu.Unlock()
		select {
		case <-w.ready:
		case <-w.closed:
			return 0, http.ErrBodyReadAfterClose
		case <-w.request.Context().Done():
			return 0, w.request.Context().Err()
		}
	}
}

// Close ends the watch. The client calls it to close the body of the response.
func (w *watcher) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

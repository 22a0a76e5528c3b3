package apisim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// latency is the longest delay if no fault is injected. A request can have such a delay, and
	// so can the changes that a watch sends.
	latency = 5 * time.Millisecond
	// answerTimeout is the longest time that a request waits for an answer that never comes. It is
	// also how long a watch lasts if its request has no timeoutSeconds.
	answerTimeout = 30 * time.Second
	// With some faults, the client gets an error, but the server applies the request to the stored
	// objects later (see the constant `late`). overdue is the longest time until the server does
	// so.
	overdue = 10 * time.Second
)

// Conn is the connection of one client process to the fake API server. It implements
// http.RoundTripper.
type Conn struct {
	server *Server
	down   chan struct{} // closed when the process is killed
	once   sync.Once
	mu     sync.Mutex
	apart  map[string]time.Time // when the network partition of a class of requests ends (see Part); by class, "" for all classes
}

// Connect returns the connection of a new client process.
func (s *Server) Connect() *Conn {
	return &Conn{server: s, down: make(chan struct{}), apart: map[string]time.Time{}}
}

// Cut ends the connection as if the client process were killed. Requests that the process has
// already sent may still take effect.
func (c *Conn) Cut() { c.once.Do(func() { close(c.down) }) }

// Part simulates a network partition that lasts for the duration d. It blocks all requests of one
// class (see the function `class`), and all changes that watches of this class would send. The
// class "" stands for all classes. Requests that must not be delayed (see the method `hurried`) are
// not blocked.
func (c *Conn) Part(class string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apart[class] = time.Now().Add(d)
}

// parted returns how long the request must still wait until the partition that Part simulates is
// over. The result is 0 or negative if nothing blocks the request.
func (c *Conn) parted(q *request) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(time.Until(c.apart[""]), time.Until(c.apart[class(q)]))
}

// request is a request to the API server.
type request struct {
	*http.Request
	verb                 string // get, list, create, update, patch or delete; a watch has the verb list
	watch                bool
	resource             schema.GroupResource
	namespace, name, sub string
	contentType          string
	body                 []byte
	object               runtime.Object
	media                string // media type of the answer
	onlyMetadata         bool
}

// hurried reports whether the server must answer the request without a delay. It must do so for all
// events except the event that a pod was bound to a node ("Successfully assigned …"). The
// controller writes this event itself. It writes the other events with client-go's event
// broadcaster, which may hold a mutex while it writes. Other goroutines may wait for this mutex
// during a delay. In a synctest bubble, no time passes while a goroutine waits for a mutex, so the
// delay might never end.
func (r *request) hurried() bool {
	if r.resource.Resource != "events" {
		return false
	}
	return !bytes.Contains(r.body, []byte("Successfully assigned"))
}

func (s *Server) read(r *http.Request) (*request, error) {
	q := &request{Request: r, contentType: r.Header.Get("Content-Type")}
	q.media, q.onlyMetadata = mediaType(r.Header.Get("Accept"))
	if r.Body != nil {
		var err error
		if q.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if path[0] == "apis" {
		q.resource.Group, path = path[1], path[1:]
	}
	path = path[2:]
	if path[0] == "namespaces" && len(path) > 2 {
		q.namespace, path = path[1], path[2:]
	}
	q.resource.Resource = path[0]
	if len(path) > 1 {
		q.name = path[1]
	}
	if len(path) > 2 {
		q.sub = path[2]
	}
	q.watch = r.URL.Query().Get("watch") != ""
	q.verb = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	if q.verb == "get" && q.name == "" {
		q.verb = "list"
	}
	if q.verb != "create" && q.verb != "update" {
		return q, nil
	}
	var err error
	q.object, _, err = s.codecs.UniversalDeserializer().Decode(q.body, nil, nil)
	if meta, ok := q.object.(Object); ok && q.name == "" {
		q.name = meta.GetName()
	}
	return q, err
}

var errReset = fmt.Errorf("read: %w", syscall.ECONNRESET)

// RoundTrip answers a request, or injects a fault.
func (c *Conn) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := c.server.read(r)
	if err != nil {
		return c.status(q, apierrors.NewBadRequest(err.Error())), nil
	}
	if !q.hurried() {
		if d := c.parted(q); d > 0 {
			c.server.faults.lost(q, "parted")
			return nil, c.wait(q, min(d, answerTimeout))
		}
		time.Sleep(c.server.faults.upTo(latency))
	}
	select {
	case <-c.down:
		return nil, errReset
	default:
	}
	f := c.server.faults.of(q)
	c.server.trace(q, f)
	if f == nil {
		return c.serve(q)
	}
	switch f.effect {
	case now:
		c.server.write(q)
	case late:
		c.later(q)
	}
	switch f.status {
	case reset:
		return nil, errReset
	case silence:
		return nil, c.wait(q, answerTimeout)
	}
	return c.fail(q, f), nil
}

// trace calls Server.Trace, if it is set, with a request and the fault of the request.
func (s *Server) trace(q *request, f *fault) {
	if s.Trace == nil {
		return
	}
	what := ""
	if f != nil {
		what = f.String()
	}
	s.Trace(class(q), q.namespace, q.name, what)
}

// wait waits until the client gives up the request, but not longer than the duration d. It returns
// the error that the client gets.
func (c *Conn) wait(q *request, d time.Duration) error {
	select {
	case <-q.Context().Done():
		return q.Context().Err()
	case <-c.down:
	case <-time.After(d):
	}
	return errReset
}

// later applies a request after a random delay. The delay ends before the deadline of the request,
// and is shorter than the constant `overdue`.
func (c *Conn) later(q *request) {
	left := overdue
	if deadline, ok := q.Context().Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	d := c.server.faults.upTo(left)
	go func() {
		time.Sleep(d)
		c.server.write(q)
	}()
}

// fail returns the error response that a client gets if the fault f is injected into its request.
func (c *Conn) fail(q *request, f *fault) *http.Response {
	if f.reason == "" {
		answer := respond(q, f.status, "text/html", []byte("<html><body>"+http.StatusText(f.status)+"</body></html>"))
		return answer
	}
	status := apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(f.status), Reason: metav1.StatusReason(f.reason), Message: "injected: " + f.String(),
	}}
	if f.retry {
		status.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	}
	answer := c.status(q, &status)
	if f.retry {
		answer.Header.Set("Retry-After", "1")
	}
	return answer
}

// serve answers a request that has no fault.
func (c *Conn) serve(q *request) (*http.Response, error) {
	switch {
	case q.watch:
		return c.open(q), nil
	case q.verb == "list":
		return c.list(q)
	case q.verb == "get":
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		found, err := c.server.get(q)
		if err != nil {
			return c.status(q, err), nil
		}
		return respond(q, http.StatusOK, q.media, c.server.encoding(found, q.media)), nil
	}
	answer, err := c.server.write(q)
	if err != nil {
		return c.status(q, err), nil
	}
	code := http.StatusOK
	if q.verb == "create" {
		code = http.StatusCreated
	}
	return respond(q, code, q.media, c.server.encode(answer, q.media)), nil
}

// list answers with all objects that the request selects. If the request has a resourceVersion, the
// answer may lack the newest changes, as an answer from the API server's cache may.
func (c *Conn) list(q *request) (*http.Response, error) {
	query, s := q.URL.Query(), c.server
	wants, err := newSelection(q.namespace, query.Get("labelSelector"), query.Get("fieldSelector"))
	if err != nil {
		return c.status(q, apierrors.NewBadRequest(err.Error())), nil
	}
	s.mu.Lock()
	at := s.cached(q.resource, query.Get("resourceVersion"))
	items := s.items(q.resource, at, wants)
	body := s.encode(s.listOf(q, items, at), q.media)
	s.mu.Unlock()
	if s.faults.one(.03, "list", "cut short") != "" {
		answer := respond(q, http.StatusOK, q.media, body)
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), brokenReader{}))
		return answer, nil
	}
	return respond(q, http.StatusOK, q.media, body), nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// cached returns the resource version of the state with which the server answers a list request.
// This state can be out of date, as in the cache of a real API server. The parameter `least` is the
// resourceVersion in the request: the result is never older. If `least` is "", the result is the
// newest version. The caller holds s.mu.
func (s *Server) cached(resource schema.GroupResource, least string) uint64 {
	if least == "" || s.faults.one(s.faults.Stale, "list", "stale") == "" {
		return s.mu.version
	}
	from, _ := strconv.ParseUint(least, 10, 64)
	stored := s.store(resource)
	if len(stored.log) == 0 {
		return s.mu.version
	}
	behind := stored.log[max(0, len(stored.log)-1-int(s.faults.upTo(20)))].after.number
	return max(behind, from, stored.dropped)
}

// items returns the objects that match the selection, in the state that they had at the given
// resource version. The caller holds s.mu.
func (s *Server) items(resource schema.GroupResource, at uint64, wants selection) (selected []*version) {
	for _, v := range s.store(resource).at(at) {
		if wants.has(v) {
			selected = append(selected, v)
		}
	}
	return selected
}

// listOf returns a list object with these items. The caller holds s.mu.
func (s *Server) listOf(q *request, items []*version, at uint64) runtime.Object {
	number := strconv.FormatUint(at, 10)
	if q.onlyMetadata {
		list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: number}}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
		for _, v := range items {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: v.GetNamespace(), Name: v.GetName(), UID: v.GetUID(), ResourceVersion: v.GetResourceVersion(),
			}})
		}
		return list
	}
	kind := s.kinds[q.resource]
	kind.Kind += "List"
	list, err := s.scheme.New(kind)
	if err != nil {
		panic(err)
	}
	objects := make([]runtime.Object, len(items))
	for i, v := range items {
		objects[i] = v.Object
	}
	if err := meta.SetList(list, objects); err != nil {
		panic(err)
	}
	list.GetObjectKind().SetGroupVersionKind(kind)
	list.(metav1.ListInterface).SetResourceVersion(number)
	return list
}

// status returns an HTTP response with the Status of an error. If err does not implement
// APIStatus, the response is an internal error.
func (c *Conn) status(q *request, err error) *http.Response {
	var is apierrors.APIStatus
	if !errors.As(err, &is) {
		is = apierrors.NewInternalError(err)
	}
	status := is.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return respond(q, int(status.Code), q.media, c.server.encode(&status, q.media))
}

func respond(q *request, code int, media string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1, Request: q.Request,
	}
}

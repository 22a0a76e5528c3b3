package podwriter

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// serve starts a fake API server that gives the same answer to all requests. It returns a
// configuration for clients.
func serve(t *testing.T, answer http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL + "/", BearerToken: "secret", UserAgent: "test", QPS: -1, Timeout: 5 * time.Second}
}

func newBindings(t *testing.T, config *rest.Config) *Bindings {
	t.Helper()
	b, err := NewBindings(config)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newEvents(t *testing.T, config *rest.Config) *Events {
	t.Helper()
	e, err := NewEvents(config)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// request is a request that the fake API server has received.
type request struct {
	line, agent, token string
	object             runtime.Object
}

func read(t *testing.T, r *http.Request) request {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if got := r.Header.Get("Content-Type"); got != runtime.ContentTypeProtobuf {
		t.Errorf("sent as %q, want protobuf", got)
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		t.Error(err)
	}
	return request{r.Method + " " + r.URL.String(), r.UserAgent(), r.Header.Get("Authorization"), object}
}

func binding() *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a", Annotations: map[string]string{"where": "0"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}
}

// TestSent checks that the API server receives complete objects of the right kind at the right
// path, and that the caller's objects are not changed.
func TestSent(t *testing.T) {
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.1"}, Note: "bound", Reason: "Scheduled"}
	bound, reported := binding(), event.DeepCopy()
	bound.APIVersion, bound.Kind = "v1", "Binding"
	reported.APIVersion, reported.Kind = "events.k8s.io/v1", "Event"
	for name, tc := range map[string]struct {
		send func(*rest.Config) error
		want request
	}{
		"binding": {
			func(c *rest.Config) error { return newBindings(t, c).Create(t.Context(), binding()) },
			request{"POST /api/v1/namespaces/default/pods/a/binding?timeout=5s", "test", "Bearer secret", bound},
		},
		"event": {
			func(c *rest.Config) error { return newEvents(t, c).Create(t.Context(), event) },
			request{"POST /apis/events.k8s.io/v1/namespaces/default/events", "test", "Bearer secret", reported},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got request
			config := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = read(t, r)
				w.WriteHeader(http.StatusCreated)
			})
			if err := tc.send(config); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if event.Kind != "" {
				t.Error("the caller's object was changed")
			}
		})
	}
}

// TestProtocol checks that requests use HTTP/1.1 even if the server supports HTTP/2.
func TestProtocol(t *testing.T) {
	var got string
	config := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Proto
		w.WriteHeader(http.StatusCreated)
	})
	if err := newBindings(t, config).Create(t.Context(), binding()); err != nil || got != "HTTP/1.1" {
		t.Errorf("Create = %v over %q, want HTTP/1.1", err, got)
	}
}

// TestConcurrent checks that several goroutines can use one client at the same time.
func TestConcurrent(t *testing.T) {
	var made atomic.Int32
	b := newBindings(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		made.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := b.Create(t.Context(), binding()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := made.Load(); got != 20 {
		t.Errorf("%d bindings are made, want 20", got)
	}
}

// answer is a response of the fake API server.
type answer struct {
	code       int
	retryAfter string
	body       runtime.Object // encoded as protobuf; nil for plain text
}

func (a answer) write(w http.ResponseWriter) {
	if a.retryAfter != "" {
		w.Header().Set("Retry-After", a.retryAfter)
	}
	if a.body == nil {
		http.Error(w, "upstream is away", a.code)
		return
	}
	a.body.GetObjectKind().SetGroupVersionKind(metav1.Unversioned.WithKind("Status"))
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.WriteHeader(a.code)
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(a.body, w)
}

func status(err *apierrors.StatusError) *metav1.Status { return &err.ErrStatus }

// tries is how often client-go sends a request if each answer of the API server asks it to repeat
// the request later.
const tries = 11

// TestAnswers checks that errors of Bindings.Create have the status that the API server has sent.
// It also checks that the client repeats a Binding if the API server is overloaded and asks for
// this (429 with Retry-After). The client must not repeat a Binding that may still take effect
// (status 500 or more).
func TestAnswers(t *testing.T) {
	pods := corev1.Resource("pods")
	assigned := status(apierrors.NewConflict(pods, "a", errors.New("already assigned")))
	overloaded := status(apierrors.NewTooManyRequests("later", 0))
	done := &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	for name, tc := range map[string]struct {
		answers []answer // the last one is repeated
		is      func(error) bool
		sent    int
	}{
		"made":              {[]answer{{code: 201, body: done}}, nil, 1},
		"conflict":          {[]answer{{code: 409, body: assigned}}, apierrors.IsConflict, 1},
		"later, and then":   {[]answer{{429, "0", overloaded}, {429, "0", overloaded}, {code: 201, body: done}}, nil, 3},
		"maybe, or later":   {[]answer{{503, "0", nil}}, apierrors.IsServiceUnavailable, 1},
		"always later":      {[]answer{{429, "0", overloaded}}, apierrors.IsTooManyRequests, tries},
		"too many":          {[]answer{{code: 429, body: overloaded}}, apierrors.IsTooManyRequests, 1},
		"refused for good":  {[]answer{{403, "0", nil}}, apierrors.IsForbidden, 1},
		"a proxy's":         {[]answer{{code: 502}}, apierrors.IsUnexpectedServerError, 1},
		"took it too long":  {[]answer{{code: 504}}, apierrors.IsTimeout, 1},
		"not a Status, 404": {[]answer{{code: 404}}, apierrors.IsNotFound, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			b := newBindings(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				sent++
				tc.answers[min(sent, len(tc.answers))-1].write(w)
			}))
			err := b.Create(t.Context(), binding())
			var said apierrors.APIStatus
			if (err != nil) != (tc.is != nil) || err != nil && (!tc.is(err) || !errors.As(err, &said)) {
				t.Errorf("Create = %#v", err)
			}
			if sent != tc.sent {
				t.Errorf("sent %d times, want %d", sent, tc.sent)
			}
		})
	}
}

// TestCredentials checks that requests have the credentials of the configuration, and that their
// paths begin with the path in the configuration's host.
func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrap := func(by http.RoundTripper) http.RoundTripper {
		return around(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "plugin")
			return by.RoundTrip(r)
		})
	}
	for name, tc := range map[string]struct {
		config rest.Config
		want   string
	}{
		"nobody":       {rest.Config{}, ""},
		"a token":      {rest.Config{BearerToken: "secret"}, "Bearer secret"},
		"a file":       {rest.Config{BearerToken: "old", BearerTokenFile: file}, "Bearer of a file"},
		"a password":   {rest.Config{Username: "a", Password: "b"}, "Basic YTpi"},
		"a plugin":     {rest.Config{WrapTransport: wrap}, "plugin"},
		"for somebody": {rest.Config{BearerToken: "secret", Impersonate: rest.ImpersonationConfig{UserName: "carol"}}, "Bearer secret for carol"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			tc.config.Host = serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("Authorization")
				if who := r.Header.Get("Impersonate-User"); who != "" {
					got += " for " + who
				}
				if want := "/clusters/c1/api/v1/namespaces/default/pods/a/binding"; r.URL.Path != want {
					t.Errorf("sent to %s, want %s", r.URL.Path, want)
				}
				w.WriteHeader(http.StatusCreated)
			}).Host + "clusters/c1"
			if err := newBindings(t, &tc.config).Create(t.Context(), binding()); err != nil || got != tc.want {
				t.Errorf("Create = %v, asked as %q, want %q", err, got, tc.want)
			}
		})
	}
}

// around implements http.RoundTripper by a function, which can call another RoundTripper.
type around func(*http.Request) (*http.Response, error)

func (a around) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// overdue is a context whose deadline has passed, but whose channel Done is not closed yet, because
// the timer that closes the channel has not run. When a stopped process continues, its contexts can
// be like this for a moment.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// TestOverdue checks that a Binding is not sent after its deadline.
func TestOverdue(t *testing.T) {
	sent := 0
	b := newBindings(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.WriteHeader(http.StatusCreated)
	}))
	if err := b.Create(overdue{t.Context()}, binding()); !errors.Is(err, context.DeadlineExceeded) || sent != 0 {
		t.Errorf("Create = %v after %d requests, want %v after none", err, sent, context.DeadlineExceeded)
	}
}

// TestRemainingTime checks that the API server is told to give up a Binding at the deadline of ctx.
func TestRemainingTime(t *testing.T) {
	var got time.Duration
	b := newBindings(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = time.ParseDuration(r.URL.Query().Get("timeout"))
		w.WriteHeader(http.StatusCreated)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := b.Create(ctx, binding()); err != nil || got <= 0 || got > time.Second {
		t.Errorf("Create = %v, with a timeout of %v, want the time until the deadline, which is less than 1 s", err, got)
	}
}

// TestSilence checks that the error is not an APIStatus if the API server does not answer before the
// deadline of ctx, or asks the client to repeat the request only after this deadline.
func TestSilence(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"connection lost": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no time left":    func(w http.ResponseWriter, _ *http.Request) { answer{code: 429, retryAfter: "60"}.write(w) },
		"nothing":         func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := newBindings(t, serve(t, answer)).Create(ctx, binding())
			var said apierrors.APIStatus
			if err == nil || errors.As(err, &said) {
				t.Errorf("Create = %#v, want an error that is no APIStatus", err)
			}
		})
	}
}

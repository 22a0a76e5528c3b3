package apiwriter

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
	"testing/synctest"
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

// newClient returns a client of an API server that answers so.
func newClient(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL + "/", BearerToken: "secret", UserAgent: "test", QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// request is what the API server was sent.
type request struct {
	line, agent, token string
	object             runtime.Object
}

func read(t *testing.T, r *http.Request) request {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
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

// TestSent: the API server gets whole objects of the right kind at the right
// place, and the caller's are as they were.
func TestSent(t *testing.T) {
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.1"}, Note: "bound", Reason: "Scheduled"}
	bound, told := binding(), event.DeepCopy()
	bound.APIVersion, bound.Kind = "v1", "Binding"
	told.APIVersion, told.Kind = "events.k8s.io/v1", "Event"
	for name, tc := range map[string]struct {
		send func(*Client) error
		want request
	}{
		"binding": {
			func(c *Client) error { return c.Bind(t.Context(), binding()) },
			request{"POST /api/v1/namespaces/default/pods/a/binding?timeout=5s", "test", "Bearer secret", bound},
		},
		"event": {
			func(c *Client) error { return c.Events(t.Context(), event) },
			request{"POST /apis/events.k8s.io/v1/namespaces/default/events?timeout=5s", "test", "Bearer secret", told},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got request
			c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				got = read(t, r)
				w.WriteHeader(http.StatusCreated)
			})
			if err := tc.send(c); err != nil {
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

// TestConcurrent: many may write at one time.
func TestConcurrent(t *testing.T) {
	var made atomic.Int32
	c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		made.Add(1)
		w.WriteHeader(http.StatusCreated)
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := c.Bind(t.Context(), binding()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := made.Load(); got != 20 {
		t.Errorf("%d bindings are made, want 20", got)
	}
}

// answer is one of an API server's.
type answer struct {
	code  int
	later string         // Retry-After
	said  runtime.Object // in protobuf; nil for plain text
}

func (a answer) write(w http.ResponseWriter) {
	if a.later != "" {
		w.Header().Set("Retry-After", a.later)
	}
	if a.said == nil {
		http.Error(w, "upstream is away", a.code)
		return
	}
	a.said.GetObjectKind().SetGroupVersionKind(metav1.Unversioned.WithKind("Status"))
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.WriteHeader(a.code)
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(a.said, w)
}

func status(err *apierrors.StatusError) *metav1.Status { return &err.ErrStatus }

// TestAnswers: an error says what the API server has made of it, in the same
// terms as client-go's, and what may be sent again is.
func TestAnswers(t *testing.T) {
	pods := corev1.Resource("pods")
	assigned := status(apierrors.NewConflict(pods, "a", errors.New("already assigned")))
	overloaded := status(apierrors.NewTooManyRequests("later", 0))
	done := &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	for name, tc := range map[string]struct {
		answers []answer // the last for ever
		is      func(error) bool
		sent    int
	}{
		"made":              {[]answer{{code: 201, said: done}}, nil, 1},
		"conflict":          {[]answer{{code: 409, said: assigned}}, apierrors.IsConflict, 1},
		"later, and then":   {[]answer{{429, "0", overloaded}, {503, "0", nil}, {code: 201, said: done}}, nil, 3},
		"always later":      {[]answer{{429, "0", overloaded}}, apierrors.IsTooManyRequests, tries},
		"too many":          {[]answer{{code: 429, said: overloaded}}, apierrors.IsTooManyRequests, 1},
		"refused for good":  {[]answer{{403, "0", nil}}, apierrors.IsForbidden, 1},
		"a proxy's":         {[]answer{{code: 502}}, apierrors.IsUnexpectedServerError, 1},
		"took it too long":  {[]answer{{code: 504}}, apierrors.IsTimeout, 1},
		"not a Status, 404": {[]answer{{code: 404}}, apierrors.IsNotFound, 1},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				sent++
				tc.answers[min(sent, len(tc.answers))-1].write(w)
			})
			err := c.Bind(t.Context(), binding())
			if (err != nil) != (tc.is != nil) || err != nil && !tc.is(err) {
				t.Errorf("Bind = %#v", err)
			}
			if sent != tc.sent {
				t.Errorf("sent %d times, want %d", sent, tc.sent)
			}
		})
	}
}

// TestEvents: of events that are written together each gets its due, and what may be
// sent again is sent again alone.
func TestEvents(t *testing.T) {
	busy := 2
	var sent []string
	var mu sync.Mutex // an end of a connection tells the race detector nothing of what was before
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := read(t, r).object.(*eventsv1.Event).Name
		switch sent = append(sent, name); {
		case name == "refused":
			answer{code: 403}.write(w)
		case name == "later" && busy > 0:
			busy--
			answer{code: 429, later: "0"}.write(w)
		case name == "lost":
			panic(http.ErrAbortHandler)
		default:
			answer{code: 201, said: &metav1.Status{Status: metav1.StatusSuccess}}.write(w)
		}
	})
	var all []*eventsv1.Event
	for _, name := range []string{"a", "refused", "later", "b", "lost", "c"} {
		all = append(all, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	err := c.Events(t.Context(), all...)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"a", "refused", "later", "b", "lost", "later", "later"}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if !apierrors.IsForbidden(err) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Events = %v, want one that was refused and one that was not answered", err)
	}
}

// TestWho: credentials are those that the configuration has now, and requests go to
// where its path begins.
func TestWho(t *testing.T) {
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
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("Authorization")
				if who := r.Header.Get("Impersonate-User"); who != "" {
					got += " for " + who
				}
				if want := "/clusters/c1/api/v1/namespaces/default/pods/a/binding"; r.URL.Path != want {
					t.Errorf("sent to %s, want %s", r.URL.Path, want)
				}
				w.WriteHeader(http.StatusCreated)
			}))
			defer server.Close()
			tc.config.Host = server.URL + "/clusters/c1"
			c, err := New(&tc.config)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := c.Bind(t.Context(), binding()); err != nil {
					t.Fatal(err)
				}
				if got != tc.want {
					t.Errorf("asked as %q, want %q", got, tc.want)
				}
			}
		})
	}
}

// around is a function as a transport.
type around func(*http.Request) (*http.Response, error)

func (a around) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestFresh: new credentials are in use a moment after they have come.
func TestFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := "first"
		by := around(func(r *http.Request) (*http.Response, error) {
			return &http.Response{Header: http.Header{"Authorization": {token}}, Body: http.NoBody}, nil
		})
		h := &head{ask: &http.Request{Host: "server"}, by: by}
		for i, want := range []string{"first", "first", "second"} {
			lines, err := h.lines()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("Host: server\r\nAuthorization: "+want+"\r\n", string(lines)); diff != "" {
				t.Errorf("time %d (-want +got):\n%s", i, diff)
			}
			token = "second"
			time.Sleep(fresh / 2)
		}
	})
}

// TestSilence: what is not answered is no answer of the API server's, nor is one
// that it asked for later than there is time.
func TestSilence(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"connection lost": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no time left":    func(w http.ResponseWriter, _ *http.Request) { answer{code: 503, later: "60"}.write(w) },
		"nothing":         func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := newClient(t, answer).Bind(ctx, binding())
			var said apierrors.APIStatus
			if err == nil || errors.As(err, &said) {
				t.Errorf("Bind = %#v, want an error that is no APIStatus", err)
			}
		})
	}
}

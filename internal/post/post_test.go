package post

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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
			func(c *Client) error { return c.Event(t.Context(), event) },
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

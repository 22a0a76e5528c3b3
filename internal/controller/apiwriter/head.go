package apiwriter

import (
	"bytes"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/transport"
)

// fresh is how long credentials are used before they are asked for again. Where
// they come from a file, client-go itself reads it once a minute.
const fresh = time.Second

// head has the fields that all requests share. Who asks is for client-go's wrappers
// of transports to say: each puts its field into a copy of the request, which for
// every request took as long as to write it. So they are asked once in a while.
type head struct {
	ask *http.Request     // without credentials
	by  http.RoundTripper // the wrappers, around an echo
	mu  struct {
		sync.Mutex
		fields []byte
		until  time.Time
	}
}

// newHead returns the head of requests to an API server.
func newHead(with *transport.Config, base *url.URL, header http.Header) (*head, error) {
	by, err := transport.HTTPWrappersForConfig(with, echo{})
	if err != nil {
		return nil, err
	}
	return &head{ask: &http.Request{Method: http.MethodPost, URL: base, Host: base.Host, Header: header}, by: by}, nil
}

// lines returns the fields as they are sent, each with the end of its line.
func (h *head) lines() ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().Before(h.mu.until) {
		return h.mu.fields, nil
	}
	asked, err := h.by.RoundTrip(h.ask)
	if err != nil {
		return nil, err
	}
	defer asked.Body.Close()
	lines := bytes.NewBufferString("Host: " + h.ask.Host + "\r\n")
	if err := asked.Header.Write(lines); err != nil {
		return nil, err
	}
	h.mu.fields, h.mu.until = lines.Bytes(), time.Now().Add(fresh)
	return h.mu.fields, nil
}

// echo answers a request with its own header.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: r.Header, Body: http.NoBody, Request: r}, nil
}

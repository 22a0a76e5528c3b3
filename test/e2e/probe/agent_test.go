package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	long := strings.Repeat("numalet_refusals_total 0\n", 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, long)
	}))
	defer server.Close()
	for path, want := range map[string]string{"/metrics": " 200 ", "/readyz": " 503 "} {
		status, body, err := get(strings.TrimPrefix(server.URL, "http://"), path, "")
		if err != nil || !strings.Contains(status, want) || body != long {
			t.Errorf("get(%s) = %q, %d bytes, %v, want %q and %d bytes", path, status, len(body), err, want, len(long))
		}
	}
}

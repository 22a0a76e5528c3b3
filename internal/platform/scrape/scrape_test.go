package scrape

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/internal/testutil/runtest"
	"github.com/numalet/numalet/internal/testutil/scrapetest"
)

func metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "some metrics") })
}

// TestOnlyAuthorizedUsers checks which requests a server answers.
func TestOnlyAuthorizedUsers(t *testing.T) {
	server, err := Listen("127.0.0.1:0", metrics(), &rest.Config{Host: scrapetest.NewAPI(t)}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	runtest.Run(t, server)
	for name, tc := range map[string]struct {
		path, token string
		status      int
		has         string
	}{
		"without a token":          {"/metrics", "", http.StatusUnauthorized, "Unauthorized"},
		"an invalid token":         {"/metrics", "invalid", http.StatusInternalServerError, "Authentication failed"}, // not 401: controller-runtime takes an invalid token for an error
		"a token without the role": {"/metrics", "ben", http.StatusForbidden, "Authorization denied for user ben"},
		"another path":             {"/debug/pprof/", "prometheus", http.StatusForbidden, "Authorization denied"},
		"a token with the role":    {"/metrics", "prometheus", http.StatusOK, "some metrics"},
	} {
		if status, body := scrapetest.Get(t, "https://"+server.Addr()+tc.path, tc.token); status != tc.status || !strings.Contains(body, tc.has) {
			t.Errorf("%s: %d %.80q, want %d %q", name, status, body, tc.status, tc.has)
		}
	}
	if _, err := Listen(server.Addr(), metrics(), &rest.Config{}, logr.Discard()); err == nil || !strings.Contains(err.Error(), "--metrics-addr") {
		t.Errorf("a second server at the same address: %v", err)
	}
}

// TestWithoutAPI checks that no request is answered while the API server is unavailable.
func TestWithoutAPI(t *testing.T) {
	server, err := Listen("127.0.0.1:0", metrics(), &rest.Config{Host: "http://127.0.0.1:1"}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	runtest.Run(t, server)
	if status, body := scrapetest.Get(t, "https://"+server.Addr()+"/metrics", "prometheus"); status != http.StatusInternalServerError || strings.Contains(body, "some metrics") {
		t.Errorf("%d %q, want status 500", status, body)
	}
}

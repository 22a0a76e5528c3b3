package scrape

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/numalet/numalet/internal/testutil/scrapetest"
)

func metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "some metrics") })
}

// TestOnlyAuthorizedUsers checks which requests a server answers.
func TestOnlyAuthorizedUsers(t *testing.T) {
	server, err := Listen("127.0.0.1:0", metrics(), &rest.Config{Host: scrapetest.NewAPI(t).URL}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	scrapetest.Run(t, server)
	for name, tc := range map[string]struct {
		path, token string
		status      int
		has         string
	}{
		"without a token":          {"/metrics", "", http.StatusUnauthorized, "Unauthorized"},
		"an invalid token":         {"/metrics", "invalid", http.StatusUnauthorized, "Unauthorized"},
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
	g, err := newGuard(&rest.Config{Host: "http://127.0.0.1:1"}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	if answer := g.answer(t, "/metrics", "Bearer prometheus"); answer.code != http.StatusInternalServerError || answer.passed {
		t.Errorf("%+v, want status 500", answer)
	}
}

// TestPermissionsAreRemembered checks that the API server is asked once a minute about a request that
// it allows, and each time about one that it refuses.
func TestPermissionsAreRemembered(t *testing.T) {
	api, now := scrapetest.NewAPI(t), testingclock.NewFakeClock(time.Unix(1e9, 0))
	g, err := newGuard(&rest.Config{Host: api.URL}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	g.withClock(now)
	for i, tc := range []struct {
		path, authorization string
		later               time.Duration
		code                int
		reviews             int32
	}{
		{"/metrics", "Bearer prometheus", 0, http.StatusOK, 2},
		{"/metrics", "bearer  prometheus", remembered - 1, http.StatusOK, 0},
		{"/metrics/others", "Bearer prometheus", 0, http.StatusOK, 2},
		{"/metrics", "Bearer prometheus", 1, http.StatusOK, 2},
		{"/metrics", "Bearer ben", 0, http.StatusForbidden, 2},
		{"/metrics", "Bearer ben", 0, http.StatusForbidden, 2},
		{"/metrics", "Bearer invalid", 0, http.StatusUnauthorized, 1},
		{"/metrics", "Basic prometheus", 0, http.StatusUnauthorized, 0},
		{"/metrics", "Bearer ", 0, http.StatusUnauthorized, 0},
	} {
		now.Step(tc.later)
		before := api.Reviews.Load()
		answer := g.answer(t, tc.path, tc.authorization)
		if n := api.Reviews.Load() - before; answer.code != tc.code || answer.passed != (tc.code == http.StatusOK) || n != tc.reviews {
			t.Errorf("request %d: %+v after %d reviews, want status %d after %d", i, answer, n, tc.code, tc.reviews)
		}
	}
}

// answered is how a guard has answered a request, and whether it has passed the request on.
type answered struct {
	code   int
	passed bool
}

func (g *guard) answer(t *testing.T, path, authorization string) (a answered) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	g.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { a.passed = true })).ServeHTTP(w, request)
	a.code = w.Code
	return a
}

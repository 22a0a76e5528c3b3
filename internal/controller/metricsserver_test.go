package controller

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/internal/testutil/scrapetest"
)

// TestMetricsNeedARole checks that only users with a suitable role can read metrics and profiles,
// and that the probes need no token.
func TestMetricsNeedARole(t *testing.T) {
	w := newWorld(t)
	w.api = &rest.Config{Host: scrapetest.NewAPI(t)}
	w.start("--profiling=true")
	metrics, health := "https://"+w.controller.metrics.Addr(), "http://"+w.controller.health.Addr()
	for name, tc := range map[string]struct {
		url, token string
		status     int
		has        string
	}{
		"without a token":            {metrics + "/metrics", "", http.StatusUnauthorized, "Unauthorized"},
		"a token without the role":   {metrics + "/metrics", "ben", http.StatusForbidden, "Authorization denied for user ben"},
		"a token with the role":      {metrics + "/metrics", "prometheus", http.StatusOK, "numalet_build_info"},
		"profiles need another role": {metrics + "/debug/pprof/", "prometheus", http.StatusForbidden, "Authorization denied"},
		"beside the probes":          {health + "/metrics", "prometheus", http.StatusNotFound, ""},
		"the probes":                 {health + "/healthz", "", http.StatusOK, "ok"},
	} {
		status, body := scrapetest.Get(t, tc.url, tc.token)
		if status != tc.status || !strings.Contains(body, tc.has) {
			t.Errorf("%s: %d %.80q, want %d %q", name, status, body, tc.status, tc.has)
		}
	}
}

package controller

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// TestMetricsNeedARole checks that only users with a suitable role can read metrics and profiles,
// and that the probes need no token.
func TestMetricsNeedARole(t *testing.T) {
	w := newWorld(t)
	var err error
	if w.authorize, err = authorized(&rest.Config{Host: reviews(t)}, logr.Discard()); err != nil {
		t.Fatal(err)
	}
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
		status, body := get(t, tc.url, tc.token)
		if status != tc.status || !strings.Contains(body, tc.has) {
			t.Errorf("%s: %d %.80q, want %d %q", name, status, body, tc.status, tc.has)
		}
	}
}

// reviews starts a fake API server that answers TokenReviews and SubjectAccessReviews, and returns
// the server's URL. It takes each token for the name of a user. Only the user prometheus may read
// /metrics.
func reviews(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		decode(t, r.Body, &review)
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		encode(t, w, review)
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		decode(t, r.Body, &review)
		review.Status.Allowed = review.Spec.User == "prometheus" && review.Spec.NonResourceAttributes.Path == "/metrics"
		encode(t, w, review)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func decode(t *testing.T, from io.Reader, into any) {
	if err := json.NewDecoder(from).Decode(into); err != nil {
		t.Error(err)
	}
}

func encode(t *testing.T, to http.ResponseWriter, v any) {
	to.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(to).Encode(v); err != nil {
		t.Error(err)
	}
}

// get sends a GET request, with the given token unless it is empty.
func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

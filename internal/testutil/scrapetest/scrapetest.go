// Package scrapetest has a fake API server that decides who may read metrics, and a client that reads
// them over HTTPS.
package scrapetest

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// NewAPI starts a fake API server that answers TokenReviews and SubjectAccessReviews until the test
// ends, and returns its URL. It takes each token for the name of a user, except for the token
// "invalid". Only the user prometheus may get /metrics and the paths below it.
func NewAPI(t testing.TB) (url string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		review := authenticationv1.TokenReview{}
		answer(t, w, r, &review, func() {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: review.Spec.Token != "invalid", User: authenticationv1.UserInfo{
				Username: review.Spec.Token, Groups: []string{"system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"scope": {"metrics"}},
			}}
		})
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		review := authorizationv1.SubjectAccessReview{}
		answer(t, w, r, &review, func() {
			asked := review.Spec.NonResourceAttributes
			if len(review.Spec.Groups) != 1 || len(review.Spec.Extra["scope"]) != 1 {
				t.Errorf("the review lacks what is known of the user: %+v", review.Spec)
			}
			review.Status.Allowed = review.Spec.User == "prometheus" && asked.Verb == "get" && (asked.Path == "/metrics" || strings.HasPrefix(asked.Path, "/metrics/"))
		})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// answer reads a review from the request r. It calls the function `decide`, which sets the status
// of the review. Then it answers with the review.
func answer(t testing.TB, w http.ResponseWriter, r *http.Request, review runtime.Object, decide func()) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Error(err)
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if _, _, err := serializer.NewCodecFactory(kinds).UniversalDeserializer().Decode(body, nil, review); err != nil { // JSON or protobuf
		t.Error(err)
	}
	decide()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		t.Error(err)
	}
}

// Get sends a GET request, with the given token unless the token is "". It returns the status code
// and the body of the answer.
func Get(t testing.TB, url, token string) (int, string) {
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

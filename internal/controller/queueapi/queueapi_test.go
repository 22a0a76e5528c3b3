package queueapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// served is a server of the queue API. Its queue has one pod of the tenant bob, and then two pods
// of the tenant ann.
type served struct {
	*httptest.Server
	Client
	leads, allows bool
	leisure       bool // whether Source.Try answers; if false, it refuses as if there were too many requests
	asked         []authorizationv1.ResourceAttributes
}

func serve(t *testing.T) *served {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	q := queue.New(queue.Env{
		Now: func() time.Time { return now }, After: func(time.Duration, func()) {}, FreedSeq: func() uint64 { return 0 },
		Rank: func(tenant string, _ fairshare.Type) float64 { return map[string]float64{"ann": 8, "bob": .5}[tenant] },
	}, queue.Options{})
	for i, name := range []string{"ann/a1", "ann/a2", "bob/b1"} {
		tenant, pod, _ := strings.Cut(name, "/")
		q.Add(queue.Entry{
			Pod: &sched.Pod{UID: name, Namespace: tenant, Name: pod}, Created: start.Add(time.Duration(i) * time.Second), Type: "T4", Tenant: tenant,
		})
	}
	now = start.Add(90 * time.Second)
	s := &served{leads: true, allows: true}
	s.Server = httptest.NewServer(New(Source{
		List: q.List, UID: func(namespace, name string) string { return namespace + "/" + name }, Explain: q.Explain, Message: func(uid string) string { return "said of " + uid },
		Forecast: func(explanation queue.Explanation) Forecast { return Forecast{P50: "5m0s", Unknown: explanation.UID} },
		Try:      func(p *sched.Pod) ([]Variant, bool) { return []Variant{{"as it is", p.Name == "a1", "n1"}}, s.leisure },
		TooLarge: func(*sched.Pod) string { return "" }, Leads: func() bool { return s.leads }, Allow: s.allow,
	}))
	t.Cleanup(s.Server.Close)
	s.Client = Client{s.URL, s.Server.Client()}
	return s
}

func (s *served) allow(_ *http.Request, wish *authorizationv1.ResourceAttributes) error {
	if wish != nil {
		s.asked = append(s.asked, *wish)
	}
	if !s.allows {
		return apierrors.NewForbidden(groupResource(), "", errors.New("no"))
	}
	return nil
}

func TestList(t *testing.T) {
	s := serve(t)
	row := func(name string, score float64, position int) []any {
		return []any{name, score, position, 3, "1m30s", "active", "it waits for its turn"}
	}
	for namespace, want := range map[string][][]any{
		"":     {row("bob/b1", .5, 1), row("ann/a1", 8, 2), row("ann/a2", 8, 3)},
		"ann":  {row("ann/a1", 8, 2), row("ann/a2", 8, 3)},
		"none": nil,
	} {
		pods, err := s.List(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]any
		for _, pod := range pods {
			got = append(got, []any{pod.Namespace + "/" + pod.Name, pod.Status.Score, pod.Status.Position, pod.Status.Of, pod.Status.Waited, pod.Status.State, pod.Status.WaitsFor})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pods of %q (-want +got):\n%s", namespace, diff)
		}
	}
}

func TestGet(t *testing.T) {
	s := serve(t)
	pod, err := s.Get(t.Context(), "ann", "a2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Ahead{{"bob", .5, 1}, {"ann", 8, 1}}, pod.Status.Ahead); diff != "" || pod.Status.Position != 3 || pod.Status.Message != "said of ann/a2" || pod.Status.Needs == "" {
		t.Errorf("pod %+v, ahead (-want +got):\n%s", pod, diff)
	}
	want := []authorizationv1.ResourceAttributes{{Verb: "get", Group: Group, Version: Version, Resource: Resource, Namespace: "ann", Name: "a2"}}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("asked who may (-want +got):\n%s", diff)
	}
}

func TestWhatIf(t *testing.T) {
	s := serve(t)
	if _, err := s.WhatIf(t.Context(), "ann", "a1"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("error %v, want that there are too many requests", err)
	}
	s.leisure = true
	got, err := s.WhatIf(t.Context(), "ann", "a1")
	if diff := cmp.Diff([]Variant{{"as it is", true, "n1"}}, got.Variants); diff != "" || err != nil || got.Name != "a1" {
		t.Errorf("%+v, %v, variants (-want +got):\n%s", got, err, diff)
	}
	if asked := s.asked[len(s.asked)-1]; asked.Subresource != whatIfResource || asked.Namespace != "ann" {
		t.Errorf("asked who may %+v", asked)
	}
	if _, err := s.WhatIf(t.Context(), "ann", "none"); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want not found", err)
	}
}

// TestRefusals checks that clients of the API server understand the errors of the queue API. It
// also checks that a user without permission does not learn whether a pod is pending, and does not
// learn which replica leads.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*served)
		path   string
		want   func(error) bool
	}{
		"pod that does not wait":   {nil, "/namespaces/ann/pendingpods/none", apierrors.IsNotFound},
		"pod of another namespace": {nil, "/namespaces/bob/pendingpods/a1", apierrors.IsNotFound},
		"standby":                  {func(s *served) { s.leads = false }, "/pendingpods", apierrors.IsServiceUnavailable},
		"no right":                 {func(s *served) { s.allows, s.leads = false, false }, "/namespaces/ann/pendingpods/none", apierrors.IsForbidden},
		"no right to discover":     {func(s *served) { s.allows = false }, "", apierrors.IsForbidden},
		"watch":                    {nil, "/pendingpods?watch=true", apierrors.IsMethodNotSupported},
		"label selector":           {nil, "/pendingpods?labelSelector=a", apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			if tc.change != nil {
				tc.change(s)
			}
			if err := s.Client.get(t.Context(), root+tc.path, nil); !tc.want(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestNobodyServes(t *testing.T) {
	s := serve(t)
	for name, server := range map[string]string{"another server": s.URL + "/nowhere"} {
		if _, err := (Client{server, http.DefaultClient}).List(t.Context(), ""); !errors.Is(err, ErrNoAPI) {
			t.Errorf("%s: error %v, want %v", name, err, ErrNoAPI)
		}
	}
	s.leads = false
	if _, err := s.List(t.Context(), ""); !errors.Is(err, ErrNoAPI) {
		t.Errorf("standby: error %v, want %v", err, ErrNoAPI)
	}
	if _, err := s.Get(t.Context(), "ann", "none"); errors.Is(err, ErrNoAPI) == apierrors.IsNotFound(err) {
		t.Errorf("error %v is both or neither", err)
	}
}

// TestTable checks that the queue API returns a Table object if a client requests one, as kubectl
// get does.
func TestTable(t *testing.T) {
	s := serve(t)
	for path, rows := range map[string]int{"/pendingpods": 3, "/namespaces/ann/pendingpods/a1": 1} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+root+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		response, err := s.Server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		var got metav1.Table
		if err := errors.Join(err, json.Unmarshal(body, &got)); err != nil || got.Kind != "Table" || len(got.Rows) != rows {
			t.Errorf("%s: %v, %s", path, err, body)
		}
	}
}

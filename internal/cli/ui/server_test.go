package ui

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// source returns a fake Source with one node, two tenants and one GPU group. The user of this
// Source is not allowed to read the scheduling queue.
func source() Source {
	tenant := func(name, weight, score string) v1alpha1.Tenant {
		w := resource.MustParse(weight)
		return v1alpha1.Tenant{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.TenantSpec{Weight: &w, Quotas: map[string]resource.Quantity{"T4": resource.MustParse("8")}},
			Status:     v1alpha1.TenantStatus{Accounts: []v1alpha1.Account{{Type: "T4", Usage: resource.MustParse("1500m"), Score: score}}},
		}
	}
	return Source{
		Nodes: func(context.Context) (any, error) { return []string{"node-a"}, nil },
		Map: func(_ context.Context, node string, svg io.Writer) error {
			if node != "node-a" {
				return errors.New("no such node")
			}
			_, err := io.WriteString(svg, "<svg/>")
			return err
		},
		Tenants: func(context.Context) ([]v1alpha1.Tenant, error) {
			return []v1alpha1.Tenant{tenant("ann", "1", "2"), tenant("ben", "2", "3")}, nil
		},
		Groups: func(context.Context) ([]v1alpha1.GPUGroup, error) {
			return []v1alpha1.GPUGroup{{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: v1alpha1.GPUGroupSpec{Tenants: []string{"ann"}}}}, nil
		},
		Queue: func(context.Context) (any, error) { return nil, errors.New("you may not list pending pods") },
	}
}

// request sends one request with the token in a cookie, as the browser does after it has opened the
// page.
func request(t *testing.T, path, host, token string) (status int, body string, header http.Header) {
	t.Helper()
	handler, err := New("secret", source())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
	if token != "" {
		r.AddCookie(&http.Cookie{Name: cookieFor(host), Value: token})
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func TestData(t *testing.T) {
	for path, want := range map[string]string{
		"/data/nodes":   `["node-a"]`,
		"/data/tenants": `[{"name":"ben","weight":2,"type":"T4","usage":1.5,"score":3,"quota":"8"},{"name":"ann","weight":1,"type":"T4","usage":1.5,"score":2,"quota":"8"}]`,
		"/data/groups":  `[{"name":"g","tenants":["ann"],"type":"","gpus":0,"used":0,"accepted":"Unknown","message":""}]`,
		"/data/queue":   "you may not list pending pods",
		"/nodes/node-b": "no such node",
	} {
		t.Run(path, func(t *testing.T) {
			status, body, _ := request(t, path, "127.0.0.1:8000", "secret")
			if diff := cmp.Diff(want, strings.TrimSpace(body)); diff != "" {
				t.Errorf("status %d (-want +got):\n%s", status, diff)
			}
			if failed := strings.HasPrefix(want, "["); failed == (status != http.StatusOK) {
				t.Errorf("status %d", status)
			}
		})
	}
}

func TestPicture(t *testing.T) {
	status, body, header := request(t, "/nodes/node-a", "localhost", "secret")
	if status != http.StatusOK || body != "<svg/>" || header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("status %d, type %q, body %q", status, header.Get("Content-Type"), body)
	}
}

// TestTwoServers checks that a browser keeps the tokens of two servers of one computer apart. A browser
// sends a cookie to all ports of a host.
func TestTwoServers(t *testing.T) {
	_, _, first := request(t, "/?token=secret", "127.0.0.1:8000", "")
	_, _, second := request(t, "/?token=secret", "127.0.0.1:8001", "")
	name := func(h http.Header) string {
		name, _, _ := strings.Cut(h.Get("Set-Cookie"), "=")
		return name
	}
	if name(first) == name(second) {
		t.Errorf("both servers set the cookie %q", name(first))
	}
}

// TestGuard checks that the server refuses a request for the page or its data if the request lacks
// the token, or if its Host header does not name this computer.
func TestGuard(t *testing.T) {
	for name, tc := range map[string]struct {
		path, host, token string
		want              int
	}{
		"page":              {"/", "127.0.0.1:8000", "secret", http.StatusOK},
		"page by IPv6":      {"/", "[::1]:8000", "secret", http.StatusOK},
		"script":            {"/page.js", "localhost:8000", "secret", http.StatusOK},
		"first request":     {"/?token=secret", "localhost:8000", "", http.StatusSeeOther},
		"wrong first token": {"/?token=guess", "localhost:8000", "", http.StatusForbidden},
		"no token":          {"/data/nodes", "localhost:8000", "", http.StatusForbidden},
		"wrong token":       {"/data/nodes", "localhost:8000", "guess", http.StatusForbidden},
		"DNS rebinding":     {"/data/nodes", "attacker.example", "secret", http.StatusForbidden},
		"other address":     {"/data/nodes", "192.0.2.1:8000", "secret", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, header := request(t, tc.path, tc.host, tc.token)
			if status != tc.want {
				t.Errorf("status %d, want %d", status, tc.want)
			}
			if header.Get("Content-Security-Policy") == "" {
				t.Error("no content security policy")
			}
			if set := header.Get("Set-Cookie"); (status == http.StatusSeeOther) != strings.Contains(set, "HttpOnly; SameSite=Strict") {
				t.Errorf("cookie %q", set)
			}
		})
	}
}

func TestServeEnds(t *testing.T) {
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := New("secret", source())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, on, handler) }()
	response, err := http.Get("http://" + on.Addr().String() + "/?token=wrong")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "kubectl numalet ui") {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeQueue serves one pending pod in the namespace team, as the queue API does.
func fakeQueue(t *testing.T) string {
	const pod = `{"name":"team/train","type":"T4","tenant":"ann","score":2,"position":1,"of":1,"state":"active","waited":"3s","waitsFor":"it waits for its turn"}`
	mux := http.NewServeMux()
	for path, page := range map[string]struct{ kind, content string }{
		"/queue":            {"application/json", "[" + pod + "]"},
		"/queue/team/train": {"application/json", pod},
		"/page/queue":       {"text/html", "<html>\nWelcome"},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", page.kind)
			w.Write([]byte(page.content))
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// kubeconfig writes one whose current context has the namespace team.
func kubeconfig(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "config")
	const content = `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: team}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestQueueAsJSON(t *testing.T) {
	server := fakeQueue(t)
	const pod = `"name": "team/train",`
	for _, args := range [][]string{{"queue"}, {"why", "train", "-n", "team"}} {
		got := numalet(append(args, "--server", server, "-o", "json")...)
		if got.status != 0 || !strings.Contains(got.stdout, pod) {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, got.status, got.stdout, got.stderr)
		}
	}
}

// TestWhyUsesNamespaceOfKubeconfig checks that why finds a pod in the namespace that
// kubectl would use.
func TestWhyUsesNamespaceOfKubeconfig(t *testing.T) {
	server, file := fakeQueue(t), kubeconfig(t)
	if got := numalet("why", "train", "--server", server, "--kubeconfig", file); got.status != 0 || !strings.HasPrefix(got.stdout, "team/train is number 1 of 1") {
		t.Errorf("flag --kubeconfig: status %d, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
	}
	t.Setenv("KUBECONFIG", file)
	if got := numalet("why", "train", "--server", server); got.status != 0 {
		t.Errorf("$KUBECONFIG: status %d, stderr %q", got.status, got.stderr)
	}
	if got := numalet("why", "train", "--server", server, "-n", "other"); got.status != 1 {
		t.Errorf("-n other: status %d, stdout %q", got.status, got.stdout)
	}
}

func TestServerAddress(t *testing.T) {
	server := fakeQueue(t)
	for address, want := range map[string]result{
		server: {status: 0}, strings.TrimPrefix(server, "http://"): {status: 0}, // as curl, without the scheme
		"ftp://host": {status: 2, stderr: `invalid argument "ftp://host" for "--server" flag: want a URL such as http://127.0.0.1:8127`},
		"http://":    {status: 2, stderr: "want a URL such as"}, "%%": {status: 2, stderr: "want a URL such as"}, "": {status: 2, stderr: "want a URL such as"},
		server + "/page": {status: 1, stderr: server + "/page is not the queue API of a Numalet controller"},
		server + "/none": {status: 1, stderr: server + "/none is not the queue API of a Numalet controller"},
	} {
		got := numalet("queue", "--server", address)
		if got.status != want.status || !strings.Contains(got.stderr, want.stderr) {
			t.Errorf("--server %q: status %d, stderr %q, want %d, %q", address, got.status, got.stderr, want.status, want.stderr)
		}
	}
}

// TestCompletion checks which values the shell offers.
func TestCompletion(t *testing.T) {
	server := fakeQueue(t)
	for line, want := range map[string]string{
		"topo -o ":                             "text json svg",
		"queue -o ":                            "text json",
		"pick --policy ":                       "random spread single",
		"pick -o ":                             "text json",
		"groups -o ":                           "text json",
		"groups plan -o ":                      "text json",
		"why -o ":                              "text json",
		"why --server " + server + " -n team ": "train",
		"why --server " + server + " -n default ": "",
	} {
		got := numalet(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		values, _, _ := strings.Cut(got.stdout, ":")
		if diff := cmp.Diff(want, strings.Join(strings.Fields(values), " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s%s", line, diff, got.stderr)
		}
	}
}

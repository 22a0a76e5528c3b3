package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// nodeTopologies starts a fake API server with two NodeTopologies. The first is from
// testdata/map.json, and the second is like one that an older version of the agent wrote. It
// returns a kubeconfig for this server.
func nodeTopologies(t *testing.T) string {
	t.Helper()
	nodeA, err := os.ReadFile("testdata/map.json")
	if err != nil {
		t.Fatal(err)
	}
	const older = `{"apiVersion": "numalet.dev/v1alpha1", "kind": "NodeTopology", "metadata": {"name": "node-b"}, "status": {
		"numa": [{"id": 0, "cpus": "0-3", "capacity": 4, "allocatable": 4, "available": 4}]}}`
	const list = "/apis/numalet.dev/v1alpha1/nodetopologies"
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		list:             fmt.Sprintf(`{"apiVersion": "numalet.dev/v1alpha1", "kind": "NodeTopologyList", "items": [%s, %s]}`, nodeA, older),
		list + "/node-a": string(nodeA),
		list + "/node-b": older,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	content := strings.ReplaceAll(`{"apiVersion": "v1", "kind": "Config", "current-context": "here",
		"contexts": [{"name": "here", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {"server": "URL"}}]}`, "URL", server.URL)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMap(t *testing.T) {
	config := nodeTopologies(t)
	for golden, args := range map[string][]string{
		"map.txt":      {"node-a"},
		"map.svg":      {"node-a", "--svg"},
		"map-old.txt":  {"node-b"},
		"map-all.txt":  nil,
		"map-all.json": {"-o", "json"},
		"map-all.yaml": {"-o", "yaml"},
		"map-wide.txt": {"-o", "wide"},
		"map.yaml":     {"node-a", "-o", "yaml"},
	} {
		t.Run(golden, func(t *testing.T) {
			got := numalet(append([]string{"map", "--kubeconfig", config}, args...)...)
			if got.status != 0 || got.stderr != "" {
				t.Fatalf("status %d, stderr %q", got.status, got.stderr)
			}
			scenario.Golden(t, filepath.Join("testdata", golden), got.stdout)
		})
	}
}

func TestMapFails(t *testing.T) {
	config := nodeTopologies(t)
	for name, tc := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"unknown node":   {[]string{"node-c"}, 1, `node "node-c" has no NodeTopology: there is no such node, or numalet-agent does not run on it`},
		"two nodes":      {[]string{"node-a", "node-b"}, 2, "accepts at most 1 arg"},
		"svg of a fleet": {[]string{"--svg"}, 2, "--svg draws one node: name it"},
	} {
		t.Run(name, func(t *testing.T) {
			got := numalet(append([]string{"map", "--kubeconfig", config}, tc.args...)...)
			if got.status != tc.status || !strings.Contains(got.stderr, tc.want) {
				t.Errorf("status %d, stderr %q; want %d and %q", got.status, got.stderr, tc.status, tc.want)
			}
		})
	}
}

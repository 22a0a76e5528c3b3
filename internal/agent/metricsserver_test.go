package agent

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/internal/testutil/runtest"
	"github.com/numalet/numalet/internal/testutil/scrapetest"
)

// TestMetricsNeedARole checks that the server at --metrics-addr serves the metrics of the agent and
// of the device plugin to authorized users only.
func TestMetricsNeedARole(t *testing.T) {
	plugin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("Authorization"); token != "" || r.URL.Path != "/metrics" {
			t.Errorf("the device plugin got %s with the token %q", r.URL, token)
		}
		io.WriteString(w, "numalet_deviceplugin_devices")
	}))
	metrics := metricsOf(t, "--device-plugin="+plugin.URL)
	for name, tc := range map[string]struct {
		path, token string
		status      int
		has         string
	}{
		"without a token":                   {"/metrics", "", http.StatusUnauthorized, "Unauthorized"},
		"a token without the role":          {"/metrics", "ben", http.StatusForbidden, "Authorization denied for user ben"},
		"a token with the role":             {"/metrics", "prometheus", http.StatusOK, "numalet_build_info"},
		"device plugin, without a token":    {"/metrics/deviceplugin", "", http.StatusUnauthorized, "Unauthorized"},
		"device plugin, without the role":   {"/metrics/deviceplugin", "ben", http.StatusForbidden, "Authorization denied for user ben"},
		"device plugin, with the role":      {"/metrics/deviceplugin", "prometheus", http.StatusOK, "numalet_deviceplugin_devices"},
		"nothing else of the device plugin": {"/metrics/readyz", "prometheus", http.StatusNotFound, ""},
	} {
		if status, body := scrapetest.Get(t, metrics+tc.path, tc.token); status != tc.status || !strings.Contains(body, tc.has) {
			t.Errorf("%s: %d %.80q, want %d %q", name, status, body, tc.status, tc.has)
		}
	}
	plugin.Close()
	if status, body := scrapetest.Get(t, metrics+"/metrics/deviceplugin", "prometheus"); status != http.StatusBadGateway || !strings.Contains(body, "the device plugin does not answer") {
		t.Errorf("without a device plugin: %d %q, want 502", status, body)
	}
}

// TestMetricsOnLoopbackOnly checks that the agent has no second server unless --metrics-addr is set.
func TestMetricsOnLoopbackOnly(t *testing.T) {
	cfg := settings(t)
	server, err := newMetricsServer(cfg, http.NotFoundHandler(), logr.Discard())
	if server != nil || err != nil || cfg.HealthAddr != "127.0.0.1:8123" {
		t.Errorf("health at %s, metrics at %v: %v", cfg.HealthAddr, server, err)
	}
}

// metricsOf runs the server at --metrics-addr until the test ends, with additional flags, and returns
// its URL.
func metricsOf(t *testing.T, flags ...string) string {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "` + scrapetest.NewAPI(t) + `"}}], contexts: [{name: a, context: {cluster: a}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := settings(t, append(flags, "--metrics-addr=127.0.0.1:0", "--kubeconfig="+kubeconfig)...)
	server, err := newMetricsServer(cfg, telemetry.Metrics(telemetry.NewRegistry("numalet-agent", "v0")), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	runtest.Run(t, server)
	return "https://" + server.Addr()
}

func settings(t *testing.T, flags ...string) config.Agent {
	t.Helper()
	cfg, err := config.LoadAgent(config.Input{Args: append(flags, "--node-name=n"), LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

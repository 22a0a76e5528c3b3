//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestNodeMetrics checks who can read the metrics of a node's programs over the network, after an
// installation with nodeMetrics.enabled.
func TestNodeMetrics(t *testing.T) {
	ctx := start(t, 10*time.Minute)
	installWith(ctx, t, "nodeMetrics.enabled=true")
	tokens := map[string]string{"an invalid token": "invalid"}
	for account, role := range map[string]string{"e2e-nobody": "", "e2e-scraper": "numalet-metrics-reader", "e2e-node-scraper": "numalet-node-metrics-reader"} {
		token, err := tokenOf(ctx, account, role)
		must(t, err)
		tokens[account] = token
	}
	for name, tc := range map[string]struct{ account, path, want string }{
		"invalid":                   {"an invalid token", "metrics", "Internal Server Error"},
		"no role":                   {"e2e-nobody", "metrics", "403 Forbidden"},
		"controller's reader":       {"e2e-scraper", "metrics/deviceplugin", "403 Forbidden"},
		"no role, device plugin":    {"e2e-nobody", "metrics/deviceplugin", "403 Forbidden"},
		"agent":                     {"e2e-node-scraper", "metrics", "numalet_hook_duration_seconds"},
		"device plugin":             {"e2e-node-scraper", "metrics/deviceplugin", "numalet_deviceplugin_"},
		"another path of the agent": {"e2e-node-scraper", "debug/pprof/", "403 Forbidden"},
	} {
		if got := metricsAt(ctx, tc.path, tokens[tc.account]); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %.200q, want it to contain %q", name, got, tc.want)
		}
	}
}

// metricsAt returns what the node answers to a request for metrics, or the probe's error.
func metricsAt(ctx context.Context, path, token string) string {
	page, err := cluster.Shell(ctx, "/usr/local/bin/probe metrics 127.0.0.1:8129/"+path+" "+token)
	if err != nil {
		_, said, _ := strings.Cut(err.Error(), "probe: ") // the text before it has the token
		return said
	}
	return page
}

package nri

import (
	"testing"

	"github.com/containerd/nri/pkg/api"
)

func TestSubscription(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		want    api.EventMask
	}{
		"without validation": {"v2.1.5", withoutValidation},
		"with validation":    {"v2.2.0", 0},
		"newer":              {"v2.4.2", 0},
		"of no known form":   {"dev", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := subscription(tc.version); got != tc.want {
				t.Errorf("subscription(%s) = %s, want %s", tc.version, got.PrettyString(), tc.want.PrettyString())
			}
		})
	}
}

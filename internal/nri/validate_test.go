package nri

import (
	"testing"

	"github.com/containerd/nri/pkg/api"
)

func TestSubscription(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime, version string
		want             api.EventMask
	}{
		"containerd without validation": {"containerd", "v2.1.5", withoutValidation},
		"containerd with validation":    {"containerd", "v2.2.0", 0},
		"newer containerd":              {"containerd", "v2.4.2", 0},
		"old CRI-O":                     {"cri-o", "v1.30.0", withoutValidation},
		"unknown runtime":               {"other", "v1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := subscription(tc.runtime, tc.version); got != tc.want {
				t.Errorf("subscription(%s, %s) = %s, want %s", tc.runtime, tc.version, got.PrettyString(), tc.want.PrettyString())
			}
		})
	}
}

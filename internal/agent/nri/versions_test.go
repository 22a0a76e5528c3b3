package nri

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/go-logr/logr/testr"
)

// TestUnsupportedRuntime: the plugin refuses it by name, once, and stays
// unready with the same sentence.
func TestUnsupportedRuntime(t *testing.T) {
	socket, n := socketIn(t), &recorder{}
	newRuntimeNamed(t, socket, "cri-o", "v1.34.1")
	p := New(Options{Socket: socket, Node: n, Log: testr.New(t), Observe: func(string, time.Duration, error) {}})
	err := p.Run(t.Context())
	if !errors.Is(err, ErrUnsupported) {
		t.Fatalf("Run = %v, want %v", err, ErrUnsupported)
	}
	if ready := p.Ready(); ready == nil || ready.Error() != err.Error() {
		t.Errorf("Ready = %v, want %v", ready, err)
	}
	for _, part := range []string{"cri-o v1.34.1", "containerd ≥ 2.0", "CRI-O has not been tested"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if calls := n.taken(); len(calls) > 0 {
		t.Errorf("the node was called: %v", calls)
	}
}

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

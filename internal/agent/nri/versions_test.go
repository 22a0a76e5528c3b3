package nri

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/go-logr/logr/testr"
)

// TestUnsupportedRuntime checks that Run returns ErrUnsupported if the container runtime is not
// supported. The error must have the name of the runtime, and Ready must return the same error.
func TestUnsupportedRuntime(t *testing.T) {
	socket, n := socketIn(t), &recorder{}
	newRuntimeNamed(t, socket, "cri-o", "1.36.1")
	p := New(Options{Socket: socket, Node: n, Log: testr.New(t), Observe: func(string, time.Duration, error) {}})
	err := p.Run(t.Context())
	if !errors.Is(err, ErrUnsupported) {
		t.Fatalf("Run = %v, want %v", err, ErrUnsupported)
	}
	if ready := p.Ready(); ready == nil || ready.Error() != err.Error() {
		t.Errorf("Ready = %v, want %v", ready, err)
	}
	for _, part := range []string{"cri-o 1.36.1", "containerd ≥ 2.0", "CRI-O starts a container even if the agent refuses the start"} {
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
		"without validation":   {"v2.1.5", withoutValidation},
		"with validation":      {"v2.2.0", 0},
		"newer":                {"v2.4.2", 0},
		"of no known form":     {"dev", 0},
		"without the v":        {"2.1.5", withoutValidation},
		"with a revision":      {"2.1.3-0ubuntu3", withoutValidation},
		"with a tilde":         {"2.1.4~ds2", withoutValidation},
		"with a suffix":        {"v2.1.5-k3s1", withoutValidation},
		"newer, without the v": {"2.2.1", 0},
		"between two releases": {"v2.2.0-225-ge9dc15b7a.m", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := subscription(tc.version); got != tc.want {
				t.Errorf("subscription(%s) = %s, want %s", tc.version, got.PrettyString(), tc.want.PrettyString())
			}
		})
	}
}

func TestSupported(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime, version string
		want             bool
	}{
		"the oldest":          {"containerd", "v2.0.0", true},
		"a candidate":         {"containerd", "2.3.0-rc.1", true},
		"two digits":          {"containerd", "v10.1.2", true},
		"a development build": {"containerd", "e3f1c0a", true},
		"unknown":             {"containerd", "", true},
		"1.7":                 {"containerd", "1.7.27", false},
		"1.7 with a v":        {"containerd", "v1.7.0", false},
		"CRI-O":               {"cri-o", "1.36.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := supported(tc.runtime, tc.version); errors.Is(err, ErrUnsupported) == tc.want {
				t.Errorf("supported(%s %s) = %v, want supported: %v", tc.runtime, tc.version, err, tc.want)
			}
		})
	}
}

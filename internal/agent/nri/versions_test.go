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
	newRuntimeNamed(t, socket, "cri-o", "1.34.1")
	p := New(Options{Socket: socket, Node: n, Log: testr.New(t), Observe: func(string, time.Duration, error) {}})
	err := p.Run(t.Context())
	if !errors.Is(err, ErrUnsupported) {
		t.Fatalf("Run = %v, want %v", err, ErrUnsupported)
	}
	if ready := p.Ready(); ready == nil || ready.Error() != err.Error() {
		t.Errorf("Ready = %v, want %v", ready, err)
	}
	for _, part := range []string{"cri-o 1.34.1", "containerd ≥ 2.0", "CRI-O ≥ 1.36", "exclude it from the DaemonSet"} {
		if strings.Count(err.Error(), part) != 1 {
			t.Errorf("error %q does not have %q once", err, part)
		}
	}
	if calls := n.taken(); len(calls) > 0 {
		t.Errorf("the node was called: %v", calls)
	}
}

// TestCannotKill checks that the plugin does not support CRI-O on a node where it cannot end the
// containers that CRI-O would start although their start was refused. The error must say what the
// node needs, and must say it only once.
func TestCannotKill(t *testing.T) {
	const needs = "use cgroup v2 and Linux 5.14 or later"
	for runtime, version := range map[string]string{"cri-o": "1.36.1", "containerd": "v2.4.2"} {
		p := &plugin{cgroups: &recorder{cannotKill: errors.New(needs)}, log: testr.New(t), runtimeTimeout: func() time.Duration { return time.Second }}
		_, err := p.Configure(t.Context(), "", runtime, version)
		if refused := runtime == "cri-o"; errors.Is(err, ErrUnsupported) != refused {
			t.Errorf("Configure(%s %s) = %v, want ErrUnsupported: %v", runtime, version, err, refused)
		}
		if err == nil {
			continue
		}
		for _, part := range []string{needs, "cgroup v2", "5.14", "exclude it from the DaemonSet"} {
			if strings.Count(err.Error(), part) != 1 {
				t.Errorf("error %q does not have %q once", err, part)
			}
		}
	}
}

func TestSubscription(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime, version string
		want             api.EventMask
	}{
		"without validation":   {"containerd", "v2.1.5", withoutValidation},
		"with validation":      {"containerd", "v2.2.0", 0},
		"newer":                {"containerd", "v2.4.2", 0},
		"of no known form":     {"containerd", "dev", 0},
		"without the v":        {"containerd", "2.1.5", withoutValidation},
		"with a revision":      {"containerd", "2.1.3-0ubuntu3", withoutValidation},
		"with a tilde":         {"containerd", "2.1.4~ds2", withoutValidation},
		"with a suffix":        {"containerd", "v2.1.5-k3s1", withoutValidation},
		"newer, without the v": {"containerd", "2.2.1", 0},
		"between two releases": {"containerd", "v2.2.0-225-ge9dc15b7a.m", 0},
		"CRI-O":                {"cri-o", "1.36.1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := subscription(tc.runtime, tc.version); got != tc.want {
				t.Errorf("subscription(%s %s) = %s, want %s", tc.runtime, tc.version, got.PrettyString(), tc.want.PrettyString())
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
		"1.7 without a patch": {"containerd", "1.7", false},
		"the oldest CRI-O":    {"cri-o", "1.36.0", true},
		"a newer CRI-O":       {"cri-o", "1.37.0", true},
		"CRI-O 2":             {"cri-o", "2.0.0", true},
		"CRI-O with a v":      {"cri-o", "v1.36.1", true},
		"an old CRI-O":        {"cri-o", "1.35.4", false},
		"an old minor only":   {"cri-o", "1.35", false},
		"another runtime":     {"frakti", "v3.0.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := supported(tc.runtime, tc.version); errors.Is(err, ErrUnsupported) == tc.want {
				t.Errorf("supported(%s %s) = %v, want supported: %v", tc.runtime, tc.version, err, tc.want)
			}
		})
	}
}

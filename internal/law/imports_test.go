// Package law holds the rules of the house as tests.
package law

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/numalet/numalet/"

// pkg in go list's JSON.
type pkg struct {
	ImportPath string
	Imports    []string
}

// TestImportsPointOneWay checks the house: cmd → internal → api, pkg → stdlib;
// adapters under internal do not import each other, and pkg imports nothing foreign.
func TestImportsPointOneWay(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, to := range p.Imports {
			if why := forbidden(from, to); why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
		}
	}
}

func TestForbidden(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		bad      bool
	}{
		"pkg to stdlib":       {"pkg/cpuset", "slices", false},
		"pkg to pkg":          {"pkg/cpuset/pool", module + "pkg/topology", false},
		"pkg to foreign":      {"pkg/cpuset", "k8s.io/api/core/v1", true},
		"pkg to internal":     {"pkg/cpuset", module + "internal/nri", true},
		"pkg to log":          {"pkg/cpuset", "log/slog", true},
		"api to pkg":          {"api/v1alpha1", module + "pkg/cpuset", true},
		"api to k8s types":    {"api/v1alpha1", "k8s.io/api/core/v1", false},
		"internal to pkg":     {"internal/nri", module + "pkg/cpuset", false},
		"adapter to adapter":  {"internal/nri", module + "internal/cgroup", true},
		"adapter to its own":  {"internal/nri", module + "internal/nri/fake", false},
		"adapter to tool box": {"internal/nri", module + "internal/telemetry", false},
		"internal to cmd":     {"internal/nri", module + "cmd/agent", true},
		"cmd to internal":     {"cmd/agent", module + "internal/nri", false},
	} {
		t.Run(name, func(t *testing.T) {
			if why := forbidden(tc.from, tc.to); (why != "") != tc.bad {
				t.Errorf("forbidden(%s, %s) = %q, want bad = %v", tc.from, tc.to, why, tc.bad)
			}
		})
	}
}

// toolbox holds the packages under internal that every adapter may use: they
// touch nothing foreign themselves.
var toolbox = map[string]bool{"internal/telemetry": true, "internal/config": true}

// forbidden returns why package from (relative to the module) may not import
// to, or "".
func forbidden(from, to string) string {
	own := strings.HasPrefix(to, module)
	to = strings.TrimPrefix(to, module)
	switch top(from) {
	case "pkg":
		if own && top(to) != "pkg" || !own && strings.Contains(to, ".") {
			return "pkg knows: it imports pkg and the standard library only"
		}
		if to == "log" || strings.HasPrefix(to, "log/") || to == "os/exec" || strings.HasPrefix(to, "net") {
			return "pkg neither logs nor touches"
		}
	case "api":
		if own && top(to) != "api" {
			return "api is the protocol: it imports api and Kubernetes' types only"
		}
	case "internal":
		if own && top(to) == "cmd" {
			return "cmd starts: nothing imports it"
		}
		if own && top(to) == "internal" && adapter(from) != adapter(to) && !toolbox[adapter(to)] {
			return "adapters do not import each other: declare a one-method interface and let cmd wire it"
		}
	}
	return ""
}

func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// adapter returns the first two elements of a path under internal.
func adapter(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

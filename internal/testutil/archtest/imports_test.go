// Package archtest checks that the packages of Numalet import only packages that they may import
// according to docs/design/ARCHITECTURE.md.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/numalet/numalet/"

// pkg is a package in the JSON output of go list.
type pkg struct {
	ImportPath string
	Imports    []string
}

// TestImportsPointOneWay checks that packages import only packages of lower layers: cmd may
// import internal, and internal may import api and pkg. pkg may import only pkg and the standard
// library. Packages of different programs under internal must not import each other; the function
// "allowed" has the exceptions. Only the packages that the function "libraries" lists may import
// the library of a foreign system, such as containerd.
func TestImportsPointOneWay(t *testing.T) {
	used := map[string]bool{}
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, to := range p.Imports {
			if why := forbidden(from, to); why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
			if lib := library(to); lib != nil {
				used[lib.path+" "+importer(from, lib.importers)] = true
			}
		}
	}
	for _, lib := range libraries() {
		for _, by := range lib.importers {
			if !used[lib.path+" "+by] {
				t.Errorf("%s does not import %s any more: take it off the list", by, lib.path)
			}
		}
	}
}

// TestRooms checks that the directory internal has only the subdirectories that
// docs/design/ARCHITECTURE.md describes. The code calls these subdirectories rooms.
func TestRooms(t *testing.T) {
	for _, p := range list(t) {
		if path, ok := strings.CutPrefix(p.ImportPath, module+"internal/"); ok && !slices.Contains(rooms(), top(path)) {
			t.Errorf("internal/%s is in none of the directories %v", path, rooms())
		}
	}
}

// rooms returns the names of the subdirectories that the directory `internal` may have.
func rooms() []string {
	return []string{"agent", "cli", "controller", "deviceplugin", "gpu", "platform", "testutil"}
}

func TestForbidden(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		bad      bool
	}{
		"pkg to stdlib":            {"pkg/cpuset", "slices", false},
		"pkg to pkg":               {"pkg/cpuset/pool", module + "pkg/topology", false},
		"pkg to foreign":           {"pkg/cpuset", "k8s.io/api/core/v1", true},
		"pkg to internal":          {"pkg/cpuset", module + "internal/agent/nri", true},
		"pkg to lab":               {"pkg/sched", module + "lab/virtual", true},
		"pkg to log":               {"pkg/cpuset", "log/slog", true},
		"api to pkg":               {"api/v1alpha1", module + "pkg/cpuset", true},
		"api to the neutral form":  {"api/v1alpha1", module + "pkg/podspec", false},
		"api to k8s types":         {"api/v1alpha1", "k8s.io/api/core/v1", false},
		"internal to pkg":          {"internal/agent/nri", module + "pkg/cpuset", false},
		"adapter to adapter":       {"internal/agent/nri", module + "internal/agent/cgroup", true},
		"adapter to its own":       {"internal/agent/nri", module + "internal/agent/nri/fake", false},
		"adapter to platform":      {"internal/agent/nri", module + "internal/platform/telemetry", false},
		"program to its adapter":   {"internal/agent", module + "internal/agent/nri", false},
		"program to gpu":           {"internal/agent", module + "internal/gpu/gpufeed", false},
		"program to other program": {"internal/agent", module + "internal/controller/podwriter", true},
		"internal to cmd":          {"internal/agent/nri", module + "cmd/agent", true},
		"internal to lab":          {"internal/controller", module + "lab/virtual", true},
		"lab to pkg":               {"lab/virtual", module + "pkg/sched", false},
		"cmd to internal":          {"cmd/agent", module + "internal/agent", false},
		"library to its importer":  {"internal/agent/nri", "github.com/containerd/nri/pkg/api", false},
		"library to another":       {"internal/agent/node", "github.com/containerd/nri/pkg/api", true},
	} {
		t.Run(name, func(t *testing.T) {
			if why := forbidden(tc.from, tc.to); (why != "") != tc.bad {
				t.Errorf("forbidden(%s, %s) = %q, want bad = %v", tc.from, tc.to, why, tc.bad)
			}
		})
	}
}

// forbidden explains why one package may not import another. It returns "" if the import is
// allowed. The parameter `from` is the path of the importing package, relative to the module.
// The parameter `to` is the full import path of the imported package.
func forbidden(from, to string) string {
	own := strings.HasPrefix(to, module)
	to = strings.TrimPrefix(to, module)
	if lib := library(to); !own && lib != nil && importer(from, lib.importers) == "" {
		return "only " + strings.Join(lib.importers, ", ") + " know " + lib.path
	}
	switch top(from) {
	case "pkg":
		if own && top(to) != "pkg" || !own && strings.Contains(to, ".") {
			return "pkg imports only pkg and the standard library"
		}
		if to == "log" || strings.HasPrefix(to, "log/") || to == "os/exec" || strings.HasPrefix(to, "net") {
			return "pkg does not log and does no I/O"
		}
	case "api":
		if own && top(to) != "api" && to != "pkg/podspec" && to != "pkg/topology" {
			return "api imports only api, pkg/podspec, pkg/topology and types of Kubernetes"
		}
	case "internal":
		return forbiddenInside(from, to, own)
	}
	return ""
}

// forbiddenInside has the rules of the function `forbidden` for importing packages under
// `internal`. The parameter `own` is true if the imported package is of this module. In that case,
// the parameter `to` is its path relative to the module.
func forbiddenInside(from, to string, own bool) string {
	switch {
	case !own:
		return ""
	case top(to) == "cmd":
		return "nothing imports cmd"
	case top(to) == "lab" && !allowed(from, to):
		return "only the tool numalet uses the simulations in lab"
	case top(to) != "internal" || adapter(from) == adapter(to):
		return ""
	case room(to) == "platform" || room(to) == "testutil":
		return ""
	case isProgram(from) && (room(to) == room(from) || allowed(from, to)):
		return ""
	}
	return "adapters do not import each other: declare a one-method interface and let the program's own package wire it"
}

// isProgram reports whether a package creates and connects the parts of a program. Such a package
// may import all packages of its program.
func isProgram(path string) bool {
	return strings.Count(path, "/") == 1 || path == "internal/gpu/nvmlserver" || path == "internal/agent/installer"
}

// allowed reports whether an import is an exception to the rule that packages in different
// directories of internal must not import each other. The table has the exceptions: for each
// importing package, the packages that it may import.
func allowed(from, to string) bool {
	return slices.Contains(map[string][]string{
		"internal/agent":        {"internal/gpu/gpufeed", "internal/deviceplugin/kubelet"},
		"internal/deviceplugin": {"internal/gpu/gpufeed", "internal/gpu/nvml/cdi", "internal/agent/nodeapi"},
		"internal/cli":          {"internal/gpu/gpufeed", "internal/controller/groups", "internal/controller/queueapi", "lab/openb"},
	}[from], to)
}

func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// room returns the directory of internal that a package is in. For "internal/agent/nri", it
// returns "agent".
func room(path string) string { return top(strings.TrimPrefix(path, "internal/")) }

// adapter returns the first three elements of a path under internal, such as
// "internal/agent/nri" for "internal/agent/nri/spec". An adapter is such a directory with
// all packages below it. Packages of the same adapter may import each other.
func adapter(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // without cgo, go list leaves out the files that load NVIDIA's library
	out, err := cmd.Output()
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

package cli

import (
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/cli/command"
)

// result is the exit status and the output of one run of numalet.
type result struct {
	status         int
	stdout, stderr string
}

// numalet runs the command numalet with these arguments.
func numalet(args ...string) result {
	var stdout, stderr strings.Builder
	root := NewRoot("numalet")
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	status := command.Execute(root, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

func TestExitStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		status int
		stderr string
	}{
		"no arguments: help":      {args: nil, status: 0},
		"help":                    {args: []string{"topo", "--help"}, status: 0},
		"unknown command":         {args: []string{"frob"}, status: 2, stderr: `unknown command "frob"`},
		"unknown flag":            {args: []string{"topo", "--frob"}, status: 2, stderr: "unknown flag: --frob"},
		"unknown format":          {args: []string{"topo", "-o", "xml"}, status: 2, stderr: "use text, json or svg"},
		"too many arguments":      {args: []string{"topo", "here"}, status: 2, stderr: `"here"`},
		"capture without a place": {args: []string{"capture"}, status: 2, stderr: "give a destination"},
		"no such root":            {args: []string{"topo", "--root", "/nonexistent"}, status: 1, stderr: "/nonexistent: no such file"},
		"a root without sys":      {args: []string{"topo", "--root", t.TempDir()}, status: 1, stderr: "no online CPU"},
		"a root that is no tar":   {args: []string{"topo", "--root", "root.go"}, status: 1, stderr: "neither a directory nor a tar"},
		"capture of nothing":      {args: []string{"capture", "--root", t.TempDir(), "-"}, status: 1, stderr: "nothing to capture"},
		"capture over a file":     {args: []string{"capture", "--root", testMachine(t), "root.go"}, status: 1, stderr: "root.go exists"},
	} {
		t.Run(name, func(t *testing.T) {
			got := numalet(tc.args...)
			if got.status != tc.status || !strings.Contains(got.stderr, tc.stderr) {
				t.Errorf("numalet %v: status %d, stderr %q; want %d, %q", tc.args, got.status, got.stderr, tc.status, tc.stderr)
			}
			if tc.status == 1 && strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("numalet %v: stderr is not one line: %q", tc.args, got.stderr)
			}
		})
	}
}

func TestCalledAsKubectlPlugin(t *testing.T) {
	if got := NewRoot("kubectl-numalet").CommandPath(); got != "kubectl numalet" {
		t.Errorf("called as kubectl-numalet it is %q, want kubectl numalet", got)
	}
}

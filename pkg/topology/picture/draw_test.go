package picture_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func TestDraw(t *testing.T) {
	for name, tc := range map[string]struct {
		machine *topology.Machine
		mark    func(cpuset.CPU) string
	}{
		"server":      {machine: server()},
		"marked":      {machine: server(), mark: func(c cpuset.CPU) string { return map[bool]string{true: "a", false: "·"}[c%8 == 4] }},
		"accelerated": {machine: accelerated()},
		"hybrid":      {machine: hybrid()},
		"dies":        {machine: dies()},
		"untold":      {machine: untold()},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := picture.Draw(&b, tc.machine, tc.mark); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", name+".txt"), b.String())
			for line := range strings.Lines(b.String()) {
				if n := len([]rune(strings.TrimSpace(line))); n > 80 {
					t.Errorf("a line has %d columns: %s", n, line)
				}
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

package pool_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of the scenarios into testdata")

// TestScenarios walks through testdata/*.txt. Each paragraph is a command and
// the ledger's answer to it:
//
//	machine packages=2 cores=4 smt=2 [nodes=1 caches=1 reserved=0,8 full-cores …]
//	pod a spread app=4 init:i=2 sidecar:s=1 [app=2@numa0:2 app=2@1GiB]
//	release a | restart [reserved=0-3] | show
//
// See scene_test.go for the commands. "go test -rewrite" writes the answers.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("find scenarios: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := walk(string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(text), got); diff != "" && !*rewrite {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// walk runs the commands of a scenario ("> command") and returns it with the
// answers of now. Lines that start with # are kept.
func walk(text string) string {
	var out strings.Builder
	var s scene
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			fmt.Fprint(&out, line)
		}
		if command, ok := strings.CutPrefix(line, "> "); ok {
			fmt.Fprintf(&out, "> %s%s\n", command, s.run(strings.Fields(command)))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

package bucket

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of testdata/*.txt anew")

// TestScenarios runs the command lines of testdata/*.txt and compares what they print:
//
//	index theta=2,3 [order=1,0]
//	add a(4,4) b(4,2) | update a(1,2) | remove a b
//	tree
//	walk leastfit (1,2) [of b,c] [seed=1] [after=a]    leaf after leaf, as defined
//	pick leastfit (1,2) [of b,c] [n=3] [task=t1] …     what the engine takes
//	reserving theta=1,1 | reserve a(3,2) t1 | release a t1
//	sees a t1                                          what a task sees of a node
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
			got := play(string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// play runs the commands of a scenario ("> command") and returns it with the
// answers of now. Lines that start with # are kept.
func play(text string) string {
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

package v1alpha1

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of the cases into testdata")

// runCases compares the last section of each file with the answer to those before it.
func runCases(t *testing.T, pattern string, answer func(t *testing.T, given []txtar.File) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			tc, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			last := &tc.Files[len(tc.Files)-1]
			got := answer(t, tc.Files[:len(tc.Files)-1])
			if *rewrite {
				last.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(tc), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(last.Data), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", last.Name, diff)
			}
		})
	}
}

package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var rewrite = flag.Bool("rewrite", false, "write the present results of the tests into their golden files")

// Rewrite reports whether the flag -rewrite is set: the test must then write its golden files
// instead of comparing its output with them.
func Rewrite() bool { return *rewrite }

// Each starts a subtest for each file that matches a pattern, and calls the function given as `run`
// in it. The test fails if no file matches.
func Each(t *testing.T, pattern string, run func(t *testing.T, file string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) { run(t, file) })
	}
}

// Golden compares the result of a test with a file. With the flag -rewrite, it writes the result to
// the file instead.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; \"go test -rewrite\" writes it anew):\n%s", file, diff)
	}
}

// Cases runs a subtest for each file that matches a pattern. Each file is a txtar archive. The
// function given as `answer` gets all sections of the file, and returns the output of the code under
// test as sections. The subtest passes if the file ends with the same sections.
func Cases(t *testing.T, pattern string, answer func(t *testing.T, sections []txtar.File) []txtar.File) {
	t.Helper()
	Each(t, pattern, func(t *testing.T, file string) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answers := answer(t, slices.Clone(archive.Files))
		first := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == answers[0].Name })
		if first < 0 {
			first = len(archive.Files)
		}
		archive.Files = append(archive.Files[:first:first], answers...)
		Golden(t, file, string(txtar.Format(archive)))
	})
}

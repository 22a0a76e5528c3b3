// Package scenario walks through scenarios: text files of commands and the
// answers to them. "go test -rewrite" writes the answers of now into the files.
package scenario

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Scene obeys the commands of one scenario: it returns the answer to one, of
// whole lines or empty.
type Scene interface{ Run(command []string) string }

// Walk runs each scenario of testdata/*.txt in a scene of its own. A line that
// starts with "> " is a command, one with # is kept, and what else follows a
// command is the answer to it.
func Walk(t *testing.T, open func() Scene) {
	t.Helper()
	WalkFiles(t, "testdata/*.txt", open)
}

// WalkFiles is Walk for the files of a pattern: for a package with several kinds of scenes.
func WalkFiles(t *testing.T, pattern string, open func() Scene) {
	t.Helper()
	Each(t, pattern, func(t *testing.T, file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		Golden(t, file, answer(string(text), open()))
	})
}

// answer returns a scenario with the answers of now, each followed by an empty
// line.
func answer(text string, scene Scene) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			fmt.Fprint(&out, line)
		}
		if command, ok := strings.CutPrefix(line, "> "); ok {
			fmt.Fprintf(&out, "> %s%s\n", command, scene.Run(strings.Fields(command)))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

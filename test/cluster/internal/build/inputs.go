package build

import (
	"os"
	"path/filepath"
	"slices"
)

// sources returns the names and contents of the files in a directory that match one of the
// patterns, ordered by name. They are inputs of an artefact: if a file changes, the artefact is
// built again.
func sources(dir string, patterns ...string) []string {
	var inputs []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !matches(e.Name(), patterns) {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil {
			inputs = append(inputs, e.Name(), string(body))
		}
	}
	return inputs
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := filepath.Match(p, name)
		return ok
	})
}

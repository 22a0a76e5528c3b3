package build

import (
	"os"
	"path/filepath"
)

// sources returns the contents of the files in a directory, ordered by name, as inputs
// of an artefact.
func sources(dir string) []string {
	var inputs []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil {
			inputs = append(inputs, e.Name(), string(body))
		}
	}
	return inputs
}

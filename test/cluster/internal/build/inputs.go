package build

import (
	"os"
	"path/filepath"
)

// sources are the contents of the files of one directory, in name order: the
// inputs of an artefact that is built from them.
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

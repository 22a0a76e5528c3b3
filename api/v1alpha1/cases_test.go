package v1alpha1

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// runCases compares the last section of each file with the answer to those before it,
// or, where that has questions too, to itself.
func runCases(t *testing.T, pattern string, answer func(t *testing.T, given []txtar.File, last string) string) {
	t.Helper()
	scenario.Each(t, pattern, func(t *testing.T, file string) {
		tc, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		last := len(tc.Files) - 1
		tc.Files[last].Data = []byte(answer(t, tc.Files[:last], string(tc.Files[last].Data)))
		scenario.Golden(t, file, string(txtar.Format(tc)))
	})
}

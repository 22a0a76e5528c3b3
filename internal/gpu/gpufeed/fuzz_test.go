package gpufeed

import (
	"encoding/json"
	"testing"

	"github.com/numalet/numalet/pkg/gpu"
)

// FuzzParse checks that parse returns either an error, or an inventory that can be
// used without a panic.
func FuzzParse(f *testing.F) {
	line, err := json.Marshal(inventory(gpu.Healthy))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(line))
	f.Add(`{"GPUs":[{"UUID":"a"},{"UUID":"b"}],"Links":[[{},{}],[{},{}]]}`)
	f.Add(`{"GPUs":[{"UUID":"a"},{"UUID":"b"}],"Links":[[{}]]}`)
	f.Fuzz(func(t *testing.T, line string) {
		v, err := parse(line)
		if err != nil {
			return
		}
		v.Units()
		if got := unmonitored(v); len(got.GPUs) != len(v.GPUs) {
			t.Errorf("%d GPUs of %d", len(got.GPUs), len(v.GPUs))
		}
		all := make([]int, len(v.GPUs))
		for i := range all {
			all[i] = len(all) - 1 - i
		}
		v.Only(all)
	})
}

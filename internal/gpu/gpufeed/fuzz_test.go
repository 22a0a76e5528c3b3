package gpufeed

import (
	"encoding/json"
	"testing"

	"github.com/numalet/numalet/pkg/gpu"
)

// FuzzParse checks that a line is refused, or is an inventory that can be used.
func FuzzParse(f *testing.F) {
	line, err := json.Marshal(inventory(gpu.Healthy))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(line))
	f.Add(`{"Cards":[{"UUID":"a"},{"UUID":"b"}],"Links":[[{},{}],[{},{}]]}`)
	f.Add(`{"Cards":[{"UUID":"a"},{"UUID":"b"}],"Links":[[{}]]}`)
	f.Fuzz(func(t *testing.T, line string) {
		v, err := parse(line)
		if err != nil {
			return
		}
		v.Units()
		if got := unmonitored(v); len(got.Cards) != len(v.Cards) {
			t.Errorf("%d cards of %d", len(got.Cards), len(v.Cards))
		}
		all := make([]int, len(v.Cards))
		for i := range all {
			all[i] = len(all) - 1 - i
		}
		v.Only(all)
	})
}

package command

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHolder(t *testing.T) {
	var got string
	for _, index := range []int{0, 5, 6, 12} {
		got += Style{colour: true}.Holder(index, "A")
	}
	if diff := cmp.Diff("\x1b[0;31mA\x1b[0m\x1b[0;36mA\x1b[0m\x1b[1;31mA\x1b[0m\x1b[0;31mA\x1b[0m", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (Style{}).Holder(3, "A"); got != "A" {
		t.Errorf("without colours: %q", got)
	}
}

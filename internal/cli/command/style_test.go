package command

import (
	"strings"
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

// TestTable checks that the cells of a table cannot contain escape sequences, and that a line break
// in a cell does not begin a new row.
func TestTable(t *testing.T) {
	var out strings.Builder
	if err := Table(&out, [][]string{{"NAME", "TYPE"}, {"a", "T4\x1b[2J"}, {"b\n\tc", "é"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("NAME  TYPE\na     T4\ufffd[2J\nb  c  é\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

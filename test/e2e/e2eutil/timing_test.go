package e2eutil

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	got := Table("plain", []Timing{
		{"hook", 1, []time.Duration{30 * time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond}},
		{"updates", 10, []time.Duration{8093 * time.Millisecond}},
	})
	want := `| flavour | what | shared containers | runs | median, ms | maximum, ms |
|---|---|---:|---:|---:|---:|
| plain | hook | 1 | 3 | 2.00 | 30.0 |
| plain | updates | 10 | 1 | 8093 | 8093 |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Table() (-want +got):\n%s", diff)
	}
}

package gpu

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzReadLinks checks ReadLinks with random tables, one row per line. A table that ReadLinks
// returns must have all rows, and must be the same after it is written and read again. No
// input may cause a panic.
func FuzzReadLinks(f *testing.F) {
	for _, text := range []string{"", "-", "- NV12\nNV12 -", "- PIX SYS\n\nSYS NODE -", "- NV0\nNV0 -", "- ?\nSYS -", "- -\n- -", "PIX", "NV12 - x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var rows [][]string
		for line := range strings.SplitSeq(text, "\n") {
			rows = append(rows, strings.Fields(line))
		}
		links, err := ReadLinks(rows)
		if err != nil || links == nil {
			return
		}
		if err := links.check(len(rows)); err != nil {
			t.Fatal(err)
		}
		again := make([][]string, len(rows))
		for i := range rows {
			again[i] = links.Row(i)
		}
		if got, err := ReadLinks(again); err != nil || !cmp.Equal(links, got) {
			t.Errorf("%v, %v\nof what was (-want +got):\n%s", again, err, cmp.Diff(links, got))
		}
	})
}

// TestRows checks that ReadLinks returns the links between some of a machine's GPUs. The test
// passes the rows of these GPUs in random order. If two GPUs have NVLinks, the PCIe level between
// them is lost, because a row does not have it.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 1000 {
		inventory := random(r, 1+r.IntN(8))
		some := r.Perm(len(inventory.GPUs))[:1+r.IntN(len(inventory.GPUs))]
		rows := make([][]string, len(some))
		for i, gpu := range some {
			rows[i] = inventory.Links.Row(gpu)
		}
		want := inventory.Only(some).Links
		for a := range want {
			for b := range want[a] {
				if want[a][b].NVLinks > 0 {
					want[a][b].Level = UnknownLevel
				}
			}
		}
		got, err := ReadLinks(rows)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("links of %v: %v (-want +got):\n%s", some, err, diff)
		}
	}
}

// TestReadLinks checks that the links of a GPU without a row are unknown, and that rows that
// contradict each other are an error.
func TestReadLinks(t *testing.T) {
	for name, tc := range map[string]struct {
		rows [][]string
		want Links
		err  string // part of the error; "" for none
	}{
		"no row":               {[][]string{nil, nil}, nil, ""},
		"one says nothing":     {[][]string{{"-", "NV2", "PIX"}, nil, {"PIX", "SYS", "-"}}, Links{{{}, {}, {Level: Single}}, {{}, {}, {}}, {{Level: Single}, {}, {}}}, ""},
		"no link":              {[][]string{{"-", "NVL"}, {"NVL", "-"}}, nil, `parse link "NVL"`},
		"no NVLink":            {[][]string{{"-", "NV0"}, {"NV0", "-"}}, nil, `parse link "NV0"`},
		"one way, the other":   {[][]string{{"-", "PIX"}, {"SYS", "-"}}, nil, "GPUs 0 and 1"},
		"without itself":       {[][]string{{"PIX", "PIX"}, {"PIX", "-"}}, nil, `want "-" once`},
		"two in one place":     {[][]string{{"-", "PIX"}, {"-", "PIX"}}, nil, `want "-" once`},
		"rows of unlike width": {[][]string{{"-", "PIX"}, {"PIX", "-", "PIX"}}, nil, "the row has 3 links, but that of another GPU has 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadLinks(tc.rows)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && err == nil {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

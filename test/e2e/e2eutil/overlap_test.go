package e2eutil

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverlaps(t *testing.T) {
	const held = "born 100 2,3\nsample 110 111 2-3\nsample 200 201 2-3\n"
	for name, tc := range map[string]struct {
		exclusive, shared string
		want              []string
	}{
		"apart":                 {held, "born 90 0,1\nsample 150 151 0-1\n", nil},
		"before it was born":    {held, "born 90 0,1,2,3\nsample 101 102 0-1\n", nil},
		"after it ended":        {held, "born 90 0,1\nsample 202 203 0-3\n", nil},
		"while it lived":        {held, "born 90 0,1\nsample 150 151 0-2\n", []string{"p/shared saw CPUs 0-2 at 150, of which 2 were exclusive to p/exclusive"}},
		"at first instruction":  {held, "born 120 0,3\n", []string{"p/shared saw CPUs 0,3 at 120, of which 3 were exclusive to p/exclusive"}},
		"exclusive set changed": {"born 100 2,3\nsample 110 111 0-3\n", "", []string{"p/exclusive is exclusive and was born on 2-3, but saw 0-3 at 110"}},
		"two lives of one":      {held + "born 300 2,3\nsample 310 311 2-3\n", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseLives(strings.NewReader(tc.exclusive), "p", "exclusive", true)
			if err != nil {
				t.Fatal(err)
			}
			b, err := ParseLives(strings.NewReader(tc.shared), "p", "shared", false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Overlaps(append(a, b...))); diff != "" {
				t.Errorf("Overlaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseLivesRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"sample first": "sample 1 2 0\n",
		"other words":  "hello\n",
		"bad time":     "born x 0\n",
		"bad list":     "born 1 0-\n",
	} {
		t.Run(name, func(t *testing.T) {
			if lives, err := ParseLives(strings.NewReader(text), "p", "c", false); err == nil {
				t.Errorf("ParseLives(%q) = %v, want an error", text, lives)
			}
		})
	}
}

// TestParseTracesInPart checks that a line that is still being written is ignored.
func TestParseTracesInPart(t *testing.T) {
	lives, err := ParseTraces("==> p_c_shared <==\nborn 1 0-3\nsample 2 3 0-3\nsample 4 5==> q_c_exclusive <==\nborn 1 4\n==> r_c_shared <==\nborn")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, l := range lives {
		got[l.String()] = len(l.Samples)
	}
	if diff := cmp.Diff(map[string]int{"p/c": 2, "q/c": 1}, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

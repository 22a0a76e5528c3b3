package jobplan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIndexes(t *testing.T) {
	for name, tc := range map[string]struct {
		set  Indexes
		text string
	}{
		"none":      {nil, ""},
		"one":       {Indexes{3}, "3"},
		"two":       {Indexes{3, 4}, "3-4"},
		"with gaps": {Indexes{0, 1, 2, 5, 7, 8}, "0-2,5,7-8"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.set.String(); got != tc.text {
				t.Errorf("String = %q, want %q", got, tc.text)
			}
			got, err := ParseIndexes(tc.text)
			if diff := cmp.Diff(tc.set, got); diff != "" || err != nil {
				t.Errorf("ParseIndexes(%q): %v (-want +got):\n%s", tc.text, err, diff)
			}
		})
	}
}

func TestParseIndexesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a":       `parsing "a"`,
		"1-":      `parsing ""`,
		"2-1":     "2-1 is out of order",
		"1,1":     "1 is out of order",
		"3,1-2":   "1-2 is out of order",
		"0-65536": "value out of range",
	} {
		if _, err := ParseIndexes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseIndexes(%q) = %v, want %s", text, err, want)
		}
	}
}

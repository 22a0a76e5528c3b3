package guest

import "testing"

func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		words []string
		want  string
	}{
		"one word is a line":   {words: []string{"ps | wc -l"}, want: "ps | wc -l"},
		"several are a vector": {words: []string{"echo", "a b", "$HOME"}, want: "'echo' 'a b' '$HOME'"},
		"a quote":              {words: []string{"echo", "it's"}, want: `'echo' 'it'\''s'`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(tc.words); got != tc.want {
				t.Errorf("Line(%q) = %s, want %s", tc.words, got, tc.want)
			}
		})
	}
}

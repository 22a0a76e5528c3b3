package docstest

import (
	"regexp"
	"strings"
	"testing"
)

// most limits the length of the README: it must have fewer words than this.
const most = 700

// TestReadmeIsShort checks that the README is shorter than the limit (see the constant
// `most`). It counts words in code and tables, but not the targets of links.
func TestReadmeIsShort(t *testing.T) {
	text := read(t, root+"/README.md")
	before, list, found := strings.Cut(text, "\n## Documentation\n")
	if !found {
		t.Fatal("README.md has no section Documentation")
	}
	target := regexp.MustCompile(`\]\([^)]*\)`)
	word := regexp.MustCompile(`[\pL\pN]`)
	words := 0
	for _, field := range strings.Fields(target.ReplaceAllString(before+list, "]")) {
		if word.MatchString(field) {
			words++
		}
	}
	if words >= most {
		t.Errorf("README.md has %d words to the end of its list of documents, want fewer than %d", words, most)
	}
}

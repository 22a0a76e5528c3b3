package docstest

import (
	"regexp"
	"strings"
	"testing"
)

// most is how many words the README may have up to the end of its list of documents.
const most = 700

// TestReadmeIsShort counts the README's words, including those of code and tables included. The
// targets of links do not count.
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

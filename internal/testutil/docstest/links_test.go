package docstest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// root is the repository's root directory.
const root = "../../.."

// TestLinks checks that relative links in Markdown files lead to files that exist, and that the
// anchor of a link names a heading of the linked file. It does not check links to other hosts.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, target := range links(read(t, page)) {
			if err := resolve(page, target); err != nil {
				t.Errorf("%s: link %q: %v", strings.TrimPrefix(page, root+"/"), target, err)
			}
		}
	}
}

// pages returns the paths of all Markdown files of the repository.
func pages(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "build" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	fence  = regexp.MustCompile("(?ms)^```.*?^```$")
	quoted = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	source = regexp.MustCompile(`(?:src|srcset)="([^"]+)"`)
)

// links returns the targets of a page's links and pictures. It ignores links in code blocks and in
// inline code.
func links(text string) (targets []string) {
	text = quoted.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		for _, pattern := range []*regexp.Regexp{link, source} {
			for _, match := range pattern.FindAllStringSubmatch(line, -1) {
				targets = append(targets, match[1])
			}
		}
	}
	return targets
}

// resolve returns an error if a link leads to a file or heading that does not exist. The parameter
// `page` is the file that has the link, and `target` is what the link has in parentheses.
func resolve(page, target string) error {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return nil
	}
	path, anchor, _ := strings.Cut(target, "#")
	file := page
	if path != "" {
		file = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if anchor == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !anchors(string(text))[anchor] {
		return fmt.Errorf("%s has no heading #%s", strings.TrimPrefix(file, root+"/"), anchor)
	}
	return nil
}

// anchors returns the anchors of a page's headings as GitHub generates them. If two headings have
// the same text, the anchor of the second has the suffix -1.
func anchors(text string) map[string]bool {
	found, times := map[string]bool{}, map[string]int{}
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		name := slug(strings.TrimSpace(title))
		if n := times[name]; n > 0 {
			found[fmt.Sprintf("%s-%d", name, n)] = true
		}
		times[name]++
		found[name] = true
	}
	return found
}

// slug returns the anchor that GitHub generates for a heading, without the suffix that a repeated
// heading gets.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
}

func TestLinkChecker(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# A title, of two\n## Same\n## Same\n[a](#a-title-of-two) [b](#same-1) [c](page.md#none) [d](gone.md)\n" +
		"```\n# Not one\n[e](nowhere)\n```\n    [f](nowhere)\n`[g](nowhere)` [h](https://example.com/x#y)\n<img src=\"gone.svg\">\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var broken []string
	for _, target := range links(text) {
		if resolve(page, target) != nil {
			broken = append(broken, target)
		}
	}
	if got, want := strings.Join(broken, " "), "page.md#none gone.md gone.svg"; got != want {
		t.Errorf("broken links %q, want %q", got, want)
	}
}

package docstest

import (
	"regexp"
	"slices"
	"strings"
)

// Command is a command in an indented code block of a Markdown page.
type Command struct {
	Section string // the heading above the block
	Line    string // the command, without a comment
	Session bool   // the command is written after "$ ", and the lines below it are its output
	Output  string // the output of a command of a session

	indent     string // the indent of the block
	start, end int    // the lines of the page that have the output; the line `end` is the first one below the output
}

// Page is a Markdown page, with the commands that a reader runs and the files that a reader saves.
type Page struct {
	Commands []Command
	Files    map[string]string // contents of the blocks below the words "Save this as `NAME`", by this name

	lines []string
}

// programs matches a line that is a command, in a block without "$ ".
var programs = regexp.MustCompile(`^(?:make|kubectl|helm|git|cd|tar|go run|ctr|skopeo|eval|numalet) `)

var saved = regexp.MustCompile("Save this as `([^`]+)`")

// ReadPage reads the code blocks of a Markdown page. A block is a sequence of lines that are indented
// by at least four spaces and follow an empty line. If a block begins with "$ ", it is a session, with
// commands after "$ " and outputs below them. In other blocks, a line is a command if it begins with
// the name of a known program.
func ReadPage(text string) Page {
	p := Page{Files: map[string]string{}, lines: strings.Split(text, "\n")}
	section, above := "", ""
	for at := 0; at < len(p.lines); {
		line := p.lines[at]
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			section = title
		}
		if !indented(line) || strings.TrimSpace(above) != "" {
			above = line
			at++
			continue
		}
		end := p.blockEnd(at)
		p.readBlock(section, at, end)
		above, at = "", end
	}
	return p
}

func indented(line string) bool {
	return strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != ""
}

// blockEnd returns the number of the first line below a block. Empty lines belong to a block if an
// indented line follows.
func (p *Page) blockEnd(start int) int {
	end := start
	for at := start; at < len(p.lines) && (indented(p.lines[at]) || strings.TrimSpace(p.lines[at]) == ""); at++ {
		if indented(p.lines[at]) {
			end = at + 1
		}
	}
	return end
}

func (p *Page) readBlock(section string, start, end int) {
	indent := p.lines[start][:len(p.lines[start])-len(strings.TrimLeft(p.lines[start], " "))]
	block := make([]string, 0, end-start)
	for _, line := range p.lines[start:end] {
		block = append(block, strings.TrimPrefix(line, indent))
	}
	if name := saved.FindStringSubmatch(p.textAbove(start)); name != nil {
		p.Files[name[1]] = strings.Join(block, "\n") + "\n"
		return
	}
	session := strings.HasPrefix(block[0], "$ ")
	for i, line := range block {
		text, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case session && prompt, !session && programs.MatchString(line):
			text, _, _ = strings.Cut(text, " #")
			below := start + i + 1
			p.Commands = append(p.Commands, Command{Section: section, Line: strings.TrimSpace(text), Session: session, indent: indent, start: below, end: below})
		case session:
			c := &p.Commands[len(p.Commands)-1]
			c.Output += line + "\n"
			c.end = start + i + 1
		}
	}
}

// textAbove returns the last non-empty line above a block that begins at the line `start`.
func (p *Page) textAbove(start int) string {
	for _, line := range slices.Backward(p.lines[:start]) {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}

// Text returns the text of the page. If the output of a command of a session has been changed, the
// text has the new output, without empty lines at its end.
func (p Page) Text() string {
	lines := slices.Clone(p.lines)
	for _, c := range slices.Backward(p.Commands) {
		var output []string
		for line := range strings.Lines(strings.TrimRight(c.Output, "\n")) {
			output = append(output, strings.TrimRight(c.indent+line, " \n"))
		}
		lines = slices.Replace(lines, c.start, c.end, output...)
	}
	return strings.Join(lines, "\n")
}

// PageSections names sections of a page.
type PageSections struct {
	Page     string // the path in the repository
	Sections []string
}

// TriedSections returns the sections whose commands `make e2e-started` runs on a cluster, in the order
// in which it runs them.
func TriedSections() []PageSections {
	return []PageSections{
		{"docs/getting-started.md", []string{"Get the files", "Install it", "The first pinned pod"}},
		{"docs/tasks/pools-and-namespaces.md", []string{"Two pools", "Uninstall", "Another namespace"}},
	}
}

package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"

	"golang.org/x/term"
)

// Style colours text for terminals. The zero Style leaves text as it is.
type Style struct{ colour bool }

// StyleOf returns the style for output to w. Text is coloured only if w is a terminal, NO_COLOR is
// not set (https://no-color.org), and TERM is not "dumb".
func StyleOf(w io.Writer) Style {
	file, ok := w.(*os.File)
	return Style{ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Bold returns a text in bold type, which is for the most important text.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Warn returns a text in yellow, which is for problems.
func (s Style) Warn(text string) string { return s.paint("33", text) }

// Good returns a text in green, which is for text that says how to solve a problem.
func (s Style) Good(text string) string { return s.paint("32", text) }

func (s Style) paint(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Table writes rows in aligned columns. The first row is the header. Table colours the header only
// after it has aligned the columns, because the alignment counts the characters of escape
// sequences, too. The cells are written without control characters (see Printable).
func Table(w io.Writer, rows [][]string) error {
	var aligned bytes.Buffer
	table := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Printable(cell)
		}
		if _, err := io.WriteString(table, strings.Join(cells, "\t")+"\n"); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	header, rest, _ := strings.Cut(aligned.String(), "\n")
	_, err := io.WriteString(w, StyleOf(w).Bold(header)+"\n"+rest)
	return err
}

// Printable returns a text without control characters. Texts from objects of a cluster may contain
// escape sequences, with which their author could change what the reader's terminal shows. Tabs and
// line breaks become spaces, and other control characters become U+FFFD.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Holder colours a text about the container with this index, so that users can tell containers
// apart. There are six colours. The indexes 6 to 11 have the same colours as 0 to 5, in bold. After
// these twelve styles, the first style follows again.
func (s Style) Holder(index int, text string) string {
	const colours = 6
	return s.paint(fmt.Sprintf("%d;%d", index/colours%2, 31+index%colours), text)
}

package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Coloured reports whether output may have colours: it goes to a terminal, and neither
// $NO_COLOR (https://no-color.org) nor a terminal without colours forbids them.
func Coloured(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

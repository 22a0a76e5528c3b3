package scenario

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Walk runs each scenario in testdata/*.txt, and compares the answers of its commands with the
// answers in the file. For each scenario, the function given as `open` creates the state of the
// test and returns the commands, which write their answers to `out`.
func Walk(t *testing.T, open func(t *testing.T, out *Answer) Commands) {
	t.Helper()
	WalkFiles(t, "testdata/*.txt", open)
}

// WalkFiles is like Walk, but runs the scenarios in the files that match a pattern. It is for
// packages with several suites.
func WalkFiles(t *testing.T, pattern string, open func(t *testing.T, out *Answer) Commands) {
	t.Helper()
	Each(t, pattern, func(t *testing.T, file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := &Answer{}
		Golden(t, file, transcript(t, string(text), open(t, out), out))
	})
}

// transcript returns the text of a scenario with the current answers of its commands. An empty
// line follows each answer. Commands without an answer need no empty line between them.
func transcript(t testing.TB, text string, commands Commands, out *Answer) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line + "\n")
		}
		command, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		answer := commands.Play(t, out, command)
		fmt.Fprintf(&b, "> %s\n%s", command, answer)
		if answer != "" || !follows(lines[i+1:]) {
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// follows reports whether the next line, lines[0], is a command or a comment.
func follows(lines []string) bool {
	return len(lines) > 0 && (strings.HasPrefix(lines[0], ">") || strings.HasPrefix(lines[0], "#"))
}

// Commands has the functions that handle the commands of a suite, by name of the command. A
// function writes its answer to its argument, the Command.
type Commands map[string]func(*Command)

// Play runs the commands in lines and returns their answers. If a command is unknown or
// malformed, the test fails, and the answer has a line that says why.
func (c Commands) Play(t testing.TB, out *Answer, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		out.Reset()
		if err := c.run(line, out); err != nil {
			t.Errorf("> %s: %v", line, err)
			out.Error(err)
		}
		b.WriteString(out.String())
	}
	return b.String()
}

func (c Commands) run(line string, out *Answer) (err error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return malformed("no command")
	}
	do, ok := c[words[0]]
	if !ok {
		return malformed("no such command")
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case malformed:
			err = r
		default:
			panic(r)
		}
	}()
	do(&Command{Answer: out, Name: words[0], Words: words[1:]})
	return nil
}

// Before returns a copy of the commands in which each command first calls the function given as
// `do`.
func (c Commands) Before(do func()) Commands {
	return c.wrap(func(handle func(*Command)) func(*Command) {
		return func(c *Command) { do(); handle(c) }
	})
}

// After returns a copy of the commands in which each command, when it is done, calls the
// function given as `do`.
func (c Commands) After(do func(*Command)) Commands {
	return c.wrap(func(handle func(*Command)) func(*Command) {
		return func(c *Command) { handle(c); do(c) }
	})
}

func (c Commands) wrap(around func(func(*Command)) func(*Command)) Commands {
	wrapped := Commands{}
	for name, handle := range c {
		wrapped[name] = around(handle)
	}
	return wrapped
}

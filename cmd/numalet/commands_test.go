package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/cli"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/testutil/docstest"
	"github.com/numalet/numalet/lab/commands"
)

const repository = "../../"

// TestCommandsOfTheDocs checks that a test runs each command in the code blocks of README.md and
// docs/getting-started.md. This test itself runs the commands of the program numalet. For a command
// of make, it only checks that the target exists. The test of `make e2e-started` runs the commands
// in the sections of docstest.TriedSections on a cluster. Any other command must be in the
// Makefile, so that make runs it.
func TestCommandsOfTheDocs(t *testing.T) {
	makefile := readPage(t, "Makefile")
	tried := triedCommands(t)
	ran := 0
	for _, page := range []string{"README.md", "docs/getting-started.md"} {
		for _, command := range docstest.ReadPage(readPage(t, page)).Commands {
			words := strings.Fields(command.Line)
			switch {
			case strings.HasPrefix(command.Line, "go run ./cmd/numalet "):
				ran++
				// A command of the docs fails if it requests more CPUs than this machine has. Its
				// output then advises the user to ask for fewer CPUs.
				if out, status := run(words[3:]); status != 0 && !strings.Contains(out, "ask for fewer CPUs") {
					t.Errorf("%s: %s: status %d:\n%s", page, command.Line, status, out)
				}
			case words[0] == "make":
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).MatchString(makefile) {
					t.Errorf("%s: %s: the Makefile has no such target", page, command.Line)
				}
			case !tried[command.Line] && !strings.Contains(strings.ReplaceAll(makefile, "$$", "$"), command.Line):
				t.Errorf("%s: no test runs %s", page, command.Line)
			}
		}
	}
	if ran == 0 || len(tried) == 0 {
		t.Errorf("%d commands of numalet and %d of tried sections were found: does ReadPage still fit the pages?", ran, len(tried))
	}
}

// triedCommands returns the commands of docstest.TriedSections.
func triedCommands(t *testing.T) map[string]bool {
	t.Helper()
	tried := map[string]bool{}
	for _, sections := range docstest.TriedSections() {
		for _, command := range docstest.ReadPage(readPage(t, sections.Page)).Commands {
			if slices.Contains(sections.Sections, command.Section) {
				tried[command.Line] = true
			}
		}
	}
	return tried
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(repository + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMakeHelp checks that make help lists each target of the Makefile that has a description.
func TestMakeHelp(t *testing.T) {
	makefile := readPage(t, "Makefile")
	help, err := exec.Command("make", "-s", "-C", repository, "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile(`(?m)^([^\s:]+):.*## `).FindAllStringSubmatch(makefile, -1) {
		if !strings.Contains("\n"+string(help), "\n"+target[1]+" ") {
			t.Errorf("make help does not list %s", target[1])
		}
	}
}

// run runs the command numalet with these arguments, and returns its output and its exit
// status.
func run(args []string) (string, int) {
	var out strings.Builder
	root := cli.NewRoot("numalet", commands.All()...)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	status := command.Execute(root, &out)
	return out.String(), status
}

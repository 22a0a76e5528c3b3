package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/cli"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/commands"
)

const repository = "../../"

// TestCommandsOfTheDocs checks the commands in the indented code blocks of README.md and
// docs/getting-started.md. It runs the commands of numalet. For make and kubectl apply -k, it
// checks that the target or the folder exists. It logs the commands that need a cluster and
// does not run them. make demo and the end-to-end tests run similar commands.
func TestCommandsOfTheDocs(t *testing.T) {
	makefile, err := os.ReadFile(repository + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range []string{"README.md", "docs/getting-started.md"} {
		text, err := os.ReadFile(repository + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsOf(string(text)) {
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "go run ./cmd/numalet "):
				ran++
				// A command of the docs fails if it requests more CPUs than this machine has. Its
				// output then advises to ask for fewer CPUs.
				if out, status := run(words[3:]); status != 0 && !strings.Contains(out, "ask for fewer CPUs") {
					t.Errorf("%s: %s: status %d:\n%s", page, line, status, out)
				}
			case words[0] == "make":
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).Match(makefile) {
					t.Errorf("%s: %s: the Makefile has no such target", page, line)
				}
			case strings.HasPrefix(line, "kubectl apply -k "):
				if _, err := os.Stat(filepath.Join(repository, words[3], "kustomization.yaml")); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			default:
				t.Logf("%s: needs a cluster, not run here: %s", page, line)
			}
		}
	}
	if ran == 0 {
		t.Error("no command of numalet was found: does the pattern still fit the pages?")
	}
}

// TestMakeHelp checks that make help lists each target of the Makefile that has a description.
func TestMakeHelp(t *testing.T) {
	makefile, err := os.ReadFile(repository + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command("make", "-s", "-C", repository, "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile(`(?m)^([^\s:]+):.*## `).FindAllStringSubmatch(string(makefile), -1) {
		if !strings.Contains("\n"+string(help), "\n"+target[1]+" ") {
			t.Errorf("make help does not list %s", target[1])
		}
	}
}

// commandsOf returns the commands in the indented code blocks of a Markdown page, without
// comments. It knows the commands make, kubectl, go run, ctr, eval and numalet.
func commandsOf(text string) (all []string) {
	for _, found := range regexp.MustCompile(`(?m)^ {4,}((?:make|kubectl|go run|ctr|eval|numalet) .*)$`).FindAllStringSubmatch(text, -1) {
		line, _, _ := strings.Cut(found[1], " #")
		all = append(all, strings.TrimSpace(line))
	}
	return all
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

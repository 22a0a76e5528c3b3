package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/numalet/numalet/internal/cli"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/lab/commands"
)

const preface = `# Commands of numalet

` + "`numalet`" + ` shows a machine, the scheduling queue and GPU groups, and simulates decisions. If the program has the name
` + "`kubectl-numalet`" + `, you can run it as ` + "`kubectl numalet`" + `. The exit status is 0 for success, 2 for wrong usage, and 1 for a failure or a
request that cannot be met. ` + "`numalet completion --help`" + ` explains how to enable completion in your shell. Input files are
limited to 64 MiB.

This page is generated from the commands; ` + "`make generate`" + ` writes it. ` + "`go run ./cmd/numalet COMMAND --help`" + ` prints the same.
`

// TestReference checks that docs/reference/cli.md describes the commands and flags as
// they are.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(preface)
	describe(&b, cli.NewRoot("numalet", commands.All()...))
	scenario.Golden(t, "../../docs/reference/cli.md", b.String())
}

// describe writes a section for a command if it can be run, and for each of its
// subcommands.
func describe(b *strings.Builder, cmd *cobra.Command) {
	if cmd.HasParent() && cmd.IsAvailableCommand() {
		fmt.Fprintf(b, "\n## %s\n\n", cmd.CommandPath())
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		fmt.Fprintf(b, "%s\n", strings.TrimSpace(text))
		fenced(b, cmd.UseLine())
		if cmd.Example != "" {
			fmt.Fprint(b, "\nExamples:\n")
			fenced(b, strings.TrimSpace(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")))
		}
		flags(b, cmd.NonInheritedFlags())
	}
	for _, child := range cmd.Commands() {
		describe(b, child)
	}
}

func fenced(b *strings.Builder, text string) { fmt.Fprintf(b, "\n```\n%s\n```\n", text) }

// flags writes a table of a command's flags.
func flags(b *strings.Builder, set *pflag.FlagSet) {
	header := "\n| flag | default | meaning |\n|---|---|---|\n"
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := ""
		if f.DefValue != "" {
			value = "`" + f.DefValue + "`"
		}
		_, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, "%s| %s | %s | %s |\n", header, name, value, strings.ReplaceAll(usage, "|", "\\|"))
		header = ""
	})
}

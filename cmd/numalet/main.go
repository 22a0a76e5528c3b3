// Command numalet is the command line tool: it shows a machine, the scheduling queue and GPU
// groups, and simulates decisions. Installed as kubectl-numalet it is "kubectl numalet".
//
// The exit status is 0 for success, 1 for a failure or a request that cannot be met, with
// the reason on standard error, and 2 for wrong usage.
package main

import (
	"os"
	"path/filepath"

	"github.com/numalet/numalet/internal/cli"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/commands"
)

func main() {
	root := cli.NewRoot(filepath.Base(os.Args[0]), commands.All()...)
	root.SetArgs(os.Args[1:])
	os.Exit(command.Execute(root, os.Stderr))
}

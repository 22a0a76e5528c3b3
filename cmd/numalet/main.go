// Command numalet is the command line tool. It shows a machine, the scheduling queue and GPU
// groups, and simulates scheduling decisions. If its file is named kubectl-numalet, it is
// the kubectl plugin "kubectl numalet".
//
// The exit status is 0 for success, 1 for a failure, and 2 for wrong usage. A request that
// cannot be met, for example for too many CPUs, is a failure. The reason of a failure is on
// standard error.
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

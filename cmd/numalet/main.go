// Command numalet is the people's tool: it shows a machine as Numalet sees it
// and tries out decisions. Installed as kubectl-numalet it is "kubectl numalet".
//
// Exit status 0 is success, 1 a refusal or a failure, with its reason in one
// sentence on stderr, and 2 wrong usage.
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

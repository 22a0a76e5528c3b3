// Command numalet is the people's tool: it shows a machine as Numalet sees it
// and tries out decisions. Installed as kubectl-numalet it is "kubectl numalet".
//
// Exit status 0 is success, 1 a refusal or a failure, with its reason in one
// sentence on stderr, and 2 wrong usage.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	root := newRoot(filepath.Base(os.Args[0]))
	root.SetArgs(os.Args[1:])
	os.Exit(execute(root, os.Stderr))
}

// newRoot returns the whole command tree, named as it was called.
func newRoot(calledAs string) *cobra.Command {
	root := &cobra.Command{
		Use:           "numalet",
		Short:         "See a machine as Numalet sees it, and try out decisions",
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if strings.HasPrefix(calledAs, "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl numalet"}
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newCapture(),
		newGroups(),
		newPick(),
		newQueue(),
		newScore(),
		newSimulate(),
		newTopo(),
		newWhy(),
	)
	return root
}

// execute runs the command and returns the exit status.
func execute(root *cobra.Command, stderr io.Writer) int {
	cmd, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	if errors.As(err, new(usageError)) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return 2
	}
	return 1
}

// usageError marks an error in how the tool was called: exit status 2.
type usageError struct{ error }

// wrongUsage returns a usageError.
func wrongUsage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// noArgs refuses positional arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

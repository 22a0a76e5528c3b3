// Package command has what all subcommands of numalet share: exit statuses, input files and output
// formats.
package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Execute runs a command and returns the exit status. The status is 0 for success, 2 for wrong
// usage, and 1 for any other error, for example if a machine has fewer CPUs than the user asks for.
func Execute(root *cobra.Command, stderr io.Writer) int {
	cmd, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	if errors.As(err, new(UsageError)) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return 2
	}
	return 1
}

// UsageError is an error in the arguments of a command, for which Execute returns the exit status
// 2.
type UsageError struct{ error }

// BadUsage returns err as a UsageError.
func BadUsage(err error) error { return UsageError{err} }

// WrongUsage returns a UsageError with a formatted message.
func WrongUsage(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// NoArgs returns a UsageError if there are positional arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return UsageError{err}
	}
	return nil
}

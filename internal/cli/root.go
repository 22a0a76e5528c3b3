package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
)

// NewRoot returns the whole command tree, named as it was called, with more
// commands beside those of this package.
func NewRoot(calledAs string, more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "numalet",
		Short:         "Show machines as Numalet sees them, and simulate decisions",
		Args:          command.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if strings.HasPrefix(calledAs, "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl numalet"}
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.BadUsage(err) })
	root.AddCommand(newCapture(), newDoctor(), newGroups(), newPick(), newQueue(), newTopo(), newWhy())
	root.AddCommand(more...)
	return root
}

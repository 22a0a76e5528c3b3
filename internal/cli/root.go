// Package cli is the command line tool for users and administrators: numalet, or "kubectl numalet".
// It shows a machine, the scheduling queue, tenants and GPU groups. It can also show how Numalet
// would decide, without a change of the cluster.
package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// NewRoot returns the command numalet with the subcommands of package cli, and with the additional
// subcommands in the parameter `more`. If the program was called as kubectl-numalet, its help shows
// "kubectl numalet".
func NewRoot(calledAs string, more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "numalet",
		Short:         "Show machines, the scheduling queue and GPU groups, and simulate decisions",
		Version:       telemetry.Version(),
		Args:          command.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if strings.HasPrefix(calledAs, "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl numalet"}
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.BadUsage(err) })
	root.AddCommand(newCapture(), newDoctor(), newGroups(), newMap(), newNoise(), newPick(), newQueue(), newTenants(), newTop(), newTopo(), newUI(), newWhy())
	root.AddCommand(more...)
	return root
}

package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/capture"
	"github.com/numalet/numalet/internal/inventory"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// live is the root of the running machine.
const live = "/"

// newTopo returns "numalet topo": the machine, for people and for programs.
func newTopo() *cobra.Command {
	root, out, check := live, formatText, true
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Show the machine: packages, NUMA nodes, caches, cores, CPUs",
		Long: `Show the machine: packages, NUMA nodes, last-level caches (named by their
smallest CPU), cores (in brackets, with their hardware threads), distances.`,
		Example: `  numalet topo
  numalet topo -o json
  numalet capture machine.tar && numalet topo --root machine.tar`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := machine(root)
			if err != nil {
				return err
			}
			doubts := m.Notes
			if check && root == live {
				doubts = slices.Concat(doubts, inventory.Differences(m, live))
			}
			warn(cmd.ErrOrStderr(), doubts)
			if out == formatJSON {
				return writeJSON(cmd.OutOrStdout(), toJSON(m))
			}
			return picture.Draw(cmd.OutOrStdout(), m, nil)
		},
	}
	rootFlag(cmd, &root)
	cmd.Flags().VarP(&out, "output", "o", "text or json")
	cmd.Flags().BoolVar(&check, "check", check, "warn where the library ghw sees the running machine differently")
	return cmd
}

// rootFlag adds --root to a command that looks at a machine.
func rootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "root", *root, "the machine: a directory that holds sys and proc, or a tar of it")
}

// machine discovers the machine under root.
func machine(root string) (*topology.Machine, error) {
	tree, err := capture.Open(root)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	defer tree.Close()
	return sysfs.Discover(tree)
}

// warn writes one line for each doubt.
func warn(w io.Writer, doubts []string) {
	for _, d := range doubts {
		fmt.Fprintf(w, "warning: %s\n", d)
	}
}

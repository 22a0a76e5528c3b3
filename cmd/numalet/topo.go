package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// newTopo returns "numalet topo": the machine, for people and for programs.
func newTopo() *cobra.Command {
	root, out := "/", formatText
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Show the machine: packages, NUMA nodes, caches, cores, CPUs",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := sysfs.Discover(os.DirFS(root))
			if err != nil {
				return err
			}
			return writeJSON(cmd.OutOrStdout(), toJSON(m))
		},
	}
	cmd.Flags().StringVar(&root, "root", root, "directory that holds sys and proc")
	cmd.Flags().VarP(&out, "output", "o", "text or json")
	return cmd
}

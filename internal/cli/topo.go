package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/capture"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/ghwcheck"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// live is the root of the running machine.
const live = "/"

// newTopo returns "numalet topo": the machine, for people and for programs.
func newTopo() *cobra.Command {
	root, socket, out, check := live, config.DefaultGPUSocket, command.Text, true
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Show the machine: packages, NUMA nodes, caches, cores, CPUs, GPUs",
		Long: `Show the machine: packages, NUMA nodes, last-level caches (named by their
smallest CPU), cores (in brackets, with their hardware threads), GPUs beside the
NUMA nodes that they are on, distances.

GPUs are shown as numalet-nvml tells of them on a node where it runs; elsewhere as
the kernel does, which knows where NVIDIA's cards are, and neither their indexes
nor what they are cut into.`,
		Example: `  numalet topo
  numalet topo -o json
  numalet capture machine.tar && numalet topo --root machine.tar`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := machine(root)
			if err != nil {
				return err
			}
			v, doubts, err := gpus(cmd.Context(), root, socket)
			if err != nil {
				return err
			}
			doubts = slices.Concat(m.Notes, doubts)
			if check && root == live {
				doubts = slices.Concat(doubts, differences(m, v))
			}
			warn(cmd.ErrOrStderr(), doubts)
			if out == command.JSON {
				return command.WriteJSON(cmd.OutOrStdout(), toJSON(m, v))
			}
			return picture.Draw(cmd.OutOrStdout(), m, v.Cards, nil)
		},
	}
	rootFlag(cmd, &root)
	cmd.Flags().VarP(&out, "output", "o", "text or json")
	cmd.Flags().StringVar(&socket, "gpu-socket", socket, "where numalet-nvml tells of this node's GPUs")
	cmd.Flags().BoolVar(&check, "check", check, "warn where the library ghw sees the running machine differently")
	return cmd
}

// differences returns where ghw sees the running machine differently. It knows
// cards by name, from the file pci.ids, so where there are none it is not asked.
func differences(m *topology.Machine, v *gpu.Inventory) []string {
	doubts := ghwcheck.Differences(m, live)
	if len(v.Cards) == 0 {
		return doubts
	}
	return slices.Concat(doubts, ghwcheck.CardDifferences(v, live))
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

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

// topo is "numalet topo": the machine, for people, for pages and for programs.
type topo struct {
	root, socket string
	nodeTopology string // file, or "-" for standard input
	out          topoFormat
	check        bool // compare with what the library ghw sees
}

// newTopo returns "numalet topo".
func newTopo() *cobra.Command {
	t := topo{root: live, socket: config.DefaultGPUSocket, out: topoText}
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Show the machine: packages, NUMA nodes, caches, cores, CPUs, GPUs",
		Long: `Show the machine: packages, NUMA nodes, last-level caches (named by their
smallest CPU), cores (in brackets, with their hardware threads), GPUs beside their
NUMA nodes, and the distances between NUMA nodes.

Where numalet-nvml runs, it lists the GPUs. Elsewhere the kernel does: it knows where
NVIDIA's cards are, but neither their indexes nor their MIG slices.

With --node-topology the picture also shows which CPUs are reserved, shared and
exclusive. Behind the number of a CPU stands the letter of the container that holds
it, r if it is reserved, or a dot if it is shared.`,
		Example: `  numalet topo
  numalet topo -o json
  numalet topo -o svg > machine.svg
  numalet capture machine.tar && numalet topo --root machine.tar
  kubectl get nodetopology NODE -o json | numalet topo --root machine.tar --node-topology -`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	rootFlag(cmd, &t.root)
	cmd.Flags().VarP(&t.out, "output", "o", "text, json or svg")
	cmd.Flags().StringVar(&t.socket, "gpu-socket", t.socket, "socket of numalet-nvml, which lists this node's GPUs")
	cmd.Flags().StringVar(&t.nodeTopology, "node-topology", "", "file with the node's NodeTopology as JSON, or - for standard input: mark what CPUs are used for")
	cmd.Flags().BoolVar(&t.check, "check", true, "warn where the library ghw sees the running machine differently")
	return cmd
}

func (t topo) run(cmd *cobra.Command) error {
	m, err := machine(t.root)
	if err != nil {
		return err
	}
	v, doubts, err := gpus(cmd.Context(), t.root, t.socket)
	if err != nil {
		return err
	}
	doubts = slices.Concat(m.Notes, doubts)
	if t.check && t.root == live {
		doubts = slices.Concat(doubts, differences(m, v))
	}
	warn(cmd.ErrOrStderr(), doubts)
	node := nodeUse{}
	if t.nodeTopology != "" {
		if node, err = readUse(cmd, t.nodeTopology); err != nil {
			return err
		}
	}
	if node.cards != nil {
		v.Cards = node.cards
	}
	switch t.out {
	case topoJSON:
		return command.WriteJSON(cmd.OutOrStdout(), toJSON(m, v))
	case topoSVG:
		return picture.SVG(cmd.OutOrStdout(), m, v.Cards, node.use)
	}
	return drawText(cmd.OutOrStdout(), m, v.Cards, node.use)
}

// drawText writes the picture as text, and where the use of CPUs is known, who holds
// which.
func drawText(w io.Writer, m *topology.Machine, cards []gpu.Card, use *picture.Use) error {
	if use == nil {
		return picture.Draw(w, m, cards, nil)
	}
	if err := picture.Draw(w, m, cards, use.Mark); err != nil {
		return err
	}
	for i, line := range use.Legend() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, line)
	}
	return nil
}

// topoFormat is the value of topo's -o. It implements pflag.Value.
type topoFormat string

const (
	topoText topoFormat = "text" // for people
	topoJSON topoFormat = "json" // for programs: a contract
	topoSVG  topoFormat = "svg"  // for pages
)

func (f *topoFormat) String() string { return string(*f) }

// Type names the value in the help text.
func (f *topoFormat) Type() string { return "format" }

// Set is for pflag.
func (f *topoFormat) Set(s string) error {
	if !slices.Contains([]topoFormat{topoText, topoJSON, topoSVG}, topoFormat(s)) {
		return fmt.Errorf("no such format: choose %s, %s or %s", topoText, topoJSON, topoSVG)
	}
	*f = topoFormat(s)
	return nil
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

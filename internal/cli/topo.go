package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/capture"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/cli/nodemap"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/ghwcheck"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// live is the root directory of the running machine.
const live = "/"

// topo has the flags of the command "numalet topo".
type topo struct {
	root, socket string
	nodeTopology string // the name of a file with a NodeTopology, or "-" for standard input
	out          topoFormat
	check        bool // warn if the library ghw reports another topology
}

// newTopo returns the command "numalet topo", which shows the topology of a machine.
func newTopo() *cobra.Command {
	t := topo{root: live, socket: config.DefaultGPUSocket, out: topoText}
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Show the machine: packages, NUMA nodes, caches, cores, CPUs, GPUs",
		Long: `Show the machine: packages, NUMA nodes, last-level caches (each named by its smallest
CPU number), cores (in brackets, with their hardware threads), GPUs beside their NUMA
nodes, and the distances between NUMA nodes.

If numalet-nvml runs on the machine, the command gets the GPUs from numalet-nvml.
Otherwise it reads the GPUs from sysfs, which does not have their indexes and MIG
slices.

With --node-topology the picture also shows how the CPUs are used. The character after
the number of a CPU is r for a reserved CPU, a dot for a shared CPU, and otherwise the
letter of the container that holds the CPU.`,
		Example: `  numalet topo
  numalet topo -o json
  numalet topo -o svg > machine.svg
  numalet capture machine.tar && numalet topo --root machine.tar
  kubectl get nodetopology NODE -o json | numalet topo --root machine.tar --node-topology -`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	rootFlag(cmd, &t.root)
	cmd.Flags().VarP(&t.out, "output", "o", "Output format: text, json or svg.")
	command.Complete(cmd, "output", string(topoText), string(topoJSON), string(topoSVG))
	cmd.Flags().StringVar(&t.socket, "gpu-socket", t.socket, "Socket of numalet-nvml, which lists the GPUs of this machine.")
	cmd.Flags().StringVar(&t.nodeTopology, "node-topology", "", "File with the NodeTopology of the node as JSON, or - for standard input. The picture then shows how the CPUs are used.")
	cmd.Flags().BoolVar(&t.check, "check", true, "Warn if the library ghw reports another topology for the running machine.")
	return cmd
}

func (t topo) run(cmd *cobra.Command) error {
	m, err := machine(t.root)
	if err != nil {
		return err
	}
	v, warnings, err := gpus(cmd.Context(), t.root, t.socket)
	if err != nil {
		return err
	}
	warnings = slices.Concat(m.Notes, warnings)
	if t.check && t.root == live {
		warnings = slices.Concat(warnings, differences(m, v))
	}
	warn(cmd.ErrOrStderr(), warnings)
	node := nodemap.Node{}
	if t.nodeTopology != "" {
		if node, err = readUse(cmd, t.nodeTopology); err != nil {
			return err
		}
	}
	if node.GPUs != nil {
		v.GPUs = node.GPUs
	}
	switch t.out {
	case topoJSON:
		return command.WriteJSON(cmd.OutOrStdout(), toJSON(m, v))
	case topoSVG:
		return picture.SVG(cmd.OutOrStdout(), m, v.GPUs, node.Use)
	}
	return picture.DrawUse(cmd.OutOrStdout(), m, v.GPUs, node.Use)
}

// topoFormat is the value of the flag -o of "numalet topo". It implements pflag.Value.
type topoFormat string

const (
	topoText topoFormat = "text" // for people
	topoJSON topoFormat = "json" // for programs; later versions of Numalet may add fields, but do not change or remove existing ones
	topoSVG  topoFormat = "svg"  // for web pages
)

func (f *topoFormat) String() string { return string(*f) }

// Type returns the word that stands for the flag's value in the help text. It implements
// pflag.Value.
func (f *topoFormat) Type() string { return "format" }

// Set parses the value of the flag. It implements pflag.Value.
func (f *topoFormat) Set(s string) error {
	if !slices.Contains([]topoFormat{topoText, topoJSON, topoSVG}, topoFormat(s)) {
		return fmt.Errorf("unknown format: use %s, %s or %s", topoText, topoJSON, topoSVG)
	}
	*f = topoFormat(s)
	return nil
}

// differences compares what Numalet found on the running machine (machine and inventory) with what
// the library ghw reports, and returns one sentence for each difference. If Numalet found no GPUs,
// the function does not ask ghw about GPUs, because ghw would fail on a machine that lacks the file
// pci.ids.
func differences(machine *topology.Machine, inventory *gpu.Inventory) []string {
	warnings := ghwcheck.Differences(machine, live)
	if len(inventory.GPUs) == 0 {
		return warnings
	}
	return slices.Concat(warnings, ghwcheck.GPUDifferences(inventory, live))
}

// rootFlag adds the flag --root to a command that reads the files of a machine.
func rootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "root", *root, "Machine to read: / for this one, a directory with sys and proc, or a tar file of such a directory.")
}

// machine reads the topology of a machine. `root` is the root directory of the running machine, or
// the directory or tar file of a captured machine.
func machine(root string) (*topology.Machine, error) {
	tree, err := capture.Open(root)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	defer tree.Close()
	return sysfs.Discover(tree)
}

// warn writes each warning in a line of its own.
func warn(w io.Writer, warnings []string) {
	for _, line := range warnings {
		fmt.Fprintf(w, "warning: %s\n", line)
	}
}

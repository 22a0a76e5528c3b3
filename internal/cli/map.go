package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/cli/nodemap"
	"github.com/numalet/numalet/pkg/topology/picture"
)

// nodeMap has the flags of "numalet map".
type nodeMap struct {
	out command.View
	svg bool
}

// newMap returns the command "numalet map", which shows which pods hold the CPUs and
// GPUs of nodes.
func newMap() *cobra.Command {
	at, look := cluster{}, nodeMap{}
	cmd := &cobra.Command{
		Use:   "map [NODE]",
		Short: "Show who holds the CPUs and GPUs of the nodes",
		Long: `Show who holds the CPUs and GPUs of the nodes, from their NodeTopologies.

Without a name it shows one line for each NUMA node. With the name of a node it draws
the node: packages, NUMA nodes, last-level caches, cores and GPUs. With -o wide and
without a name, it draws all nodes. The character after the number of a CPU is r for a
reserved CPU, a dot for a shared CPU, and otherwise the letter of the container that
holds the CPU. On a terminal, each holder has a colour.`,
		Example: `  kubectl numalet map
  kubectl numalet map node-a
  kubectl numalet map node-a --svg > node-a.svg`,
		Args: mapArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return look.all(cmd, &at)
			}
			return look.one(cmd, &at, args[0])
		},
		ValidArgsFunction: offer(1, at.nodeNames),
	}
	at.flag(cmd)
	command.ViewFlag(cmd, &look.out)
	cmd.Flags().BoolVar(&look.svg, "svg", false, "Draw the node as SVG.")
	return cmd
}

func mapArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(cmd, args); err != nil {
		return command.BadUsage(err)
	}
	return nil
}

// nodeTopologies returns a client for the NodeTopologies of the cluster.
func (c *cluster) nodeTopologies() (dynamic.ResourceInterface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	return client.Resource(v1alpha1.NodeTopologyResource()), nil
}

// all writes an overview of all nodes of the cluster.
func (look nodeMap) all(cmd *cobra.Command, at *cluster) error {
	if look.svg {
		return command.WrongUsage("--svg draws one node: name it")
	}
	objects, err := at.objects()
	if err != nil {
		return err
	}
	topologies, err := objects.Topologies(cmd.Context())
	if err != nil {
		return err
	}
	if len(topologies) == 0 {
		return errors.New("there are no NodeTopologies that you may see: numalet-agent creates one for each node that it runs on; kubectl numalet doctor says more")
	}
	summaries := summarize(topologies)
	return look.out.Write(cmd.OutOrStdout(), summaries, func(w io.Writer) error {
		if look.out == command.Wide {
			return look.drawAll(w, topologies)
		}
		return nodemap.Overview(w, summaries)
	})
}

// drawAll draws nodes, each below its name.
func (look nodeMap) drawAll(w io.Writer, topologies []v1alpha1.NodeTopology) error {
	between := ""
	for i := range topologies {
		if _, err := fmt.Fprintf(w, "%s%s\n\n", between, topologies[i].Name); err != nil {
			return err
		}
		if err := look.draw(w, &topologies[i]); err != nil {
			return err
		}
		between = "\n"
	}
	return nil
}

func summarize(topologies []v1alpha1.NodeTopology) []nodemap.Summary {
	summaries := make([]nodemap.Summary, len(topologies))
	for i := range topologies {
		summaries[i] = nodemap.Summarize(&topologies[i])
	}
	return summaries
}

// The method `one` draws the node with this name, or writes a summary of the node as JSON or YAML.
func (look nodeMap) one(cmd *cobra.Command, at *cluster, name string) error {
	topologies, err := at.nodeTopologies()
	if err != nil {
		return err
	}
	t, err := getTopology(cmd.Context(), topologies, name)
	if err != nil {
		return err
	}
	if look.svg {
		return look.draw(cmd.OutOrStdout(), t)
	}
	return look.out.Write(cmd.OutOrStdout(), nodemap.Summarize(t), func(w io.Writer) error { return look.draw(w, t) })
}

func getTopology(ctx context.Context, from dynamic.ResourceInterface, node string) (*v1alpha1.NodeTopology, error) {
	found, err := from.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("node %q has no NodeTopology: there is no such node, or numalet-agent does not run on it; kubectl numalet map lists those that have one", node)
	}
	if err != nil {
		return nil, fmt.Errorf("get NodeTopology %q: %w", node, err)
	}
	t := new(v1alpha1.NodeTopology)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, t); err != nil {
		return nil, fmt.Errorf("decode NodeTopology %q: %w", node, err)
	}
	return t, nil
}

func (look nodeMap) draw(out io.Writer, topology *v1alpha1.NodeTopology) error {
	node, err := nodemap.Read(topology)
	if err != nil {
		return fmt.Errorf("NodeTopology %q: %w", topology.Name, err)
	}
	if look.svg {
		return picture.SVG(out, node.Machine, node.GPUs, node.Use)
	}
	node.Use.Paint = command.StyleOf(out).Holder
	return picture.DrawUse(out, node.Machine, node.GPUs, node.Use)
}

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/cli/nodemap"
)

// newTop returns the command "numalet top".
func newTop() *cobra.Command {
	var at cluster
	var out command.View
	cmd := &cobra.Command{
		Use:   "top [NODE]...",
		Short: "Show how many CPUs and GPUs are free on each node and NUMA node",
		Long: `Show for each node how many CPUs can become exclusive and how many GPUs no pod holds.
With -o wide, show the CPUs and the free memory of each NUMA node. A GPU in MIG mode
without slices does not count as free. The command reads the NodeTopologies that the
nodes publish: all of them if you may list them, otherwise those that your roles name.`,
		ValidArgsFunction: offer(100, at.nodeNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := at.objects()
			if err != nil {
				return err
			}
			found, err := client.Topologies(cmd.Context(), args...)
			if err != nil {
				return err
			}
			return out.Write(cmd.OutOrStdout(), v1alpha1.NodeTopologyList{TypeMeta: listOf("NodeTopology"), Items: found}, func(w io.Writer) error { return showTop(w, found, out == command.Wide) })
		},
	}
	at.flag(cmd)
	command.ViewFlag(cmd, &out)
	return cmd
}

func showTop(out io.Writer, found []v1alpha1.NodeTopology, wide bool) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no nodes that you may see; no agent has published one, or your roles do not name any")
		return err
	}
	rows := [][]string{{"NODE", "READY", "CPUS", "FREE CPUS", "GPUS", "FREE GPUS", "PODS"}}
	if wide {
		rows[0] = []string{"NODE", "NUMA", "CPUS", "FREE CPUS", "FREE MEMORY"}
	}
	for i := range found {
		if wide {
			rows = append(rows, numaRows(&found[i])...)
			continue
		}
		rows = append(rows, nodeRow(&found[i]))
	}
	return command.Table(out, rows)
}

func nodeRow(topology *v1alpha1.NodeTopology) []string {
	ready := "no"
	if meta.IsStatusConditionTrue(topology.Status.Conditions, v1alpha1.ConditionReady) {
		ready = "yes"
	}
	gpus, free := nodemap.CountGPUs(&topology.Status)
	c := topology.Status.CPUs
	return []string{topology.Name, ready, fmt.Sprint(c.Allocatable), fmt.Sprint(c.Available), fmt.Sprint(gpus), fmt.Sprint(free), fmt.Sprint(len(topology.Status.Pods))}
}

func numaRows(topology *v1alpha1.NodeTopology) (rows [][]string) {
	for _, numaNode := range topology.Status.NUMA {
		memory := "-"
		if numaNode.AvailableMemory != nil {
			memory = numaNode.AvailableMemory.String()
		}
		rows = append(rows, []string{topology.Name, fmt.Sprint(numaNode.ID), fmt.Sprint(numaNode.Allocatable), fmt.Sprint(numaNode.Available), memory})
	}
	return rows
}

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
)

// nodeUse is the part of a NodeTopology that the picture of its node shows.
type nodeUse struct {
	use   *picture.Use
	cards []gpu.Card // nil if it has none
}

// readUse reads a NodeTopology, as JSON, from a file, or from the command's standard
// input for "-".
func readUse(cmd *cobra.Command, file string) (nodeUse, error) {
	if file == "-" {
		return parseUse(command.TextReader(cmd.InOrStdin()))
	}
	return command.ReadFile(file, parseUse)
}

const wantNodeTopology = "want a NodeTopology as JSON, from: kubectl get nodetopology NODE -o json"

func parseUse(r io.Reader) (nodeUse, error) {
	var t v1alpha1.NodeTopology
	if err := command.DecodeJSON(r, &t); err != nil {
		return nodeUse{}, fmt.Errorf("%w: %s", err, wantNodeTopology)
	}
	if t.Kind != "NodeTopology" {
		return nodeUse{}, fmt.Errorf("its kind is %q: %s", t.Kind, wantNodeTopology)
	}
	reserved, err := cpuset.Parse(t.Status.Machine.ReservedCPUs)
	if err != nil {
		return nodeUse{}, fmt.Errorf("read reserved CPUs of NodeTopology: %w", err)
	}
	use := &picture.Use{Reserved: reserved}
	for _, pod := range t.Status.Pods {
		for _, c := range pod.Containers {
			cpus, err := cpuset.Parse(c.CPUs)
			if err != nil {
				return nodeUse{}, fmt.Errorf("read CPUs of container %s of pod %s/%s: %w", c.Name, pod.Namespace, pod.Name, err)
			}
			use.Held = append(use.Held, picture.Holder{Name: pod.Namespace + "/" + pod.Name + " " + c.Name, CPUs: cpus})
		}
	}
	return nodeUse{use, cardsOf(t.Status.GPUs)}, nil
}

// cardsOf returns the physical GPUs of a NodeTopology.
func cardsOf(gpus []v1alpha1.GPU) (cards []gpu.Card) {
	for _, g := range gpus {
		if g.Card != "" {
			continue
		}
		c := gpu.Card{UUID: g.ID, Index: int(g.Index), Model: g.Model, PCI: gpu.Address(g.BusID), NUMA: topology.Unknown}
		if g.NUMA != nil {
			c.NUMA = topology.NodeID(*g.NUMA)
		}
		if g.Memory != nil {
			c.MemoryBytes = uint64(v1alpha1.Amount(*g.Memory))
		}
		if g.Health == gpu.Unhealthy.String() {
			c.Health = gpu.Health{State: gpu.Unhealthy, Reason: g.Message}
		}
		cards = append(cards, c)
	}
	return cards
}

package e2eutil

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Machine runs `numalet topo` in the agent's container and returns the machine with its
// CPUs, cores and NUMA nodes.
func (c *Cluster) Machine(ctx context.Context) (*topology.Machine, error) {
	out, err := exec.CommandContext(ctx, "kubectl", "--namespace", "numalet-system", "exec", "daemonset/numalet",
		"--container", "agent", "--", "numalet", "topo", "-o", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("numalet topo on %s: %w", c.Node(), err)
	}
	return parseMachine(out)
}

// parseMachine reads the JSON output of `numalet topo`: the CPUs and the NUMA nodes, which the
// pictures of a machine show.
func parseMachine(text []byte) (*topology.Machine, error) {
	var topo struct {
		CPUs []struct {
			ID, Core         cpuset.CPU
			Online, Isolated bool
			NUMA             topology.NodeID
		}
		NUMA []struct {
			ID   topology.NodeID
			CPUs cpuset.Set
		}
	}
	if err := json.Unmarshal(text, &topo); err != nil {
		return nil, fmt.Errorf("read the machine: %w", err)
	}
	machine := &topology.Machine{}
	for _, cpu := range topo.CPUs {
		machine.CPUs = append(machine.CPUs, topology.CPU{ID: cpu.ID, Core: cpu.Core, Online: cpu.Online, Isolated: cpu.Isolated, NUMA: cpu.NUMA})
	}
	for _, numaNode := range topo.NUMA {
		machine.Nodes = append(machine.Nodes, topology.Node{ID: numaNode.ID, CPUs: numaNode.CPUs})
	}
	return machine, nil
}

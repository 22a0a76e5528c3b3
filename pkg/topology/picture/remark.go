package picture

import (
	"fmt"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// maxDistances is the largest number of NUMA nodes for which the table of distances is drawn. With
// more NUMA nodes, the table would be too wide.
const maxDistances = 16

// drawRemarks writes what the tree of the picture does not show: details of GPUs, NUMA nodes
// without CPUs, huge pages, and offline and isolated CPUs.
func drawRemarks(b *strings.Builder, machine *topology.Machine, gpus []gpu.GPU, use *Use) {
	var lines []string
	add := func(what, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-12s %s\n", what, fmt.Sprintf(format, args...)))
	}
	for _, c := range gpus {
		add("GPU "+title(c), "%s%s", describe(c), heldBy(c, use))
		if c.MIG {
			add("", "%s", slicesOf(c))
		}
		for _, line := range faults(c) {
			add("", "%s", line)
		}
	}
	for _, numaNode := range machine.Nodes {
		switch {
		case numaNode.GPU != "":
			add("GPU memory", "NUMA %d  %s of GPU %s", numaNode.ID, size(numaNode.MemoryBytes), numaNode.GPU)
		case numaNode.CPUs.Empty():
			add("memory only", "NUMA %d  %s", numaNode.ID, size(numaNode.MemoryBytes))
		}
	}
	for _, numaNode := range machine.Nodes {
		for _, pool := range numaNode.HugePages {
			if pool.Total > 0 {
				add("huge pages", "NUMA %d  %d × %s", numaNode.ID, pool.Total, size(pool.SizeBytes))
			}
		}
	}
	if offline := offline(machine); !offline.Empty() {
		add("offline", "%s", offline)
	}
	if isolated := machine.Isolated(); !isolated.Empty() {
		add("isolated *", "%s", isolated)
	}
	if len(lines) > 0 {
		b.WriteString("\n" + strings.Join(lines, ""))
	}
}

// heldBy returns text with the letters of the holders of a GPU, such as " · held by A".
func heldBy(c gpu.GPU, use *Use) string {
	var by []string
	for _, i := range use.holders(c.UUID) {
		by = append(by, use.paint(i, letter(i)))
	}
	if len(by) == 0 {
		return ""
	}
	return " · held by " + strings.Join(by, ", ")
}

func offline(machine *topology.Machine) cpuset.Set {
	var off []cpuset.CPU
	for _, cpu := range machine.CPUs {
		if !cpu.Online {
			off = append(off, cpu.ID)
		}
	}
	return cpuset.Of(off...)
}

// drawDistances writes the table of distances between NUMA nodes. It writes nothing if there is
// only one NUMA node, or if the table would be too wide.
func drawDistances(b *strings.Builder, machine *topology.Machine) {
	if len(machine.Nodes) < 2 || len(machine.Nodes) > maxDistances {
		return
	}
	b.WriteString("\ndistance")
	for _, to := range machine.Nodes {
		fmt.Fprintf(b, "%4d", to.ID)
	}
	for _, from := range machine.Nodes {
		fmt.Fprintf(b, "\n%8d", from.ID)
		for _, to := range machine.Nodes {
			if d, found := from.Distances[to.ID]; found {
				fmt.Fprintf(b, "%4d", d)
			} else {
				b.WriteString("   ?")
			}
		}
	}
	b.WriteString("\n")
}

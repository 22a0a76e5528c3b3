package picture

import (
	"fmt"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// maxDistances is the number of nodes whose table of distances fits in 80 columns.
const maxDistances = 16

// drawRemarks writes the parts of the machine that are not in the tree.
func drawRemarks(b *strings.Builder, m *topology.Machine, gpus []gpu.GPU, use *Use) {
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
	for _, n := range m.Nodes {
		switch {
		case n.GPU != "":
			add("GPU memory", "NUMA %d  %s of GPU %s", n.ID, size(n.MemoryBytes), n.GPU)
		case n.CPUs.Empty():
			add("memory only", "NUMA %d  %s", n.ID, size(n.MemoryBytes))
		}
	}
	for _, n := range m.Nodes {
		for _, pool := range n.HugePages {
			if pool.Total > 0 {
				add("huge pages", "NUMA %d  %d × %s", n.ID, pool.Total, size(pool.SizeBytes))
			}
		}
	}
	if offline := offline(m); !offline.Empty() {
		add("offline", "%s", offline)
	}
	if isolated := m.Isolated(); !isolated.Empty() {
		add("isolated *", "%s", isolated)
	}
	if len(lines) > 0 {
		b.WriteString("\n" + strings.Join(lines, ""))
	}
}

// heldBy returns the letters of the holders of a GPU: " · held by A".
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

func offline(m *topology.Machine) cpuset.Set {
	var off []cpuset.CPU
	for _, c := range m.CPUs {
		if !c.Online {
			off = append(off, c.ID)
		}
	}
	return cpuset.Of(off...)
}

// drawDistances writes the distance table, unless there is only one node or the table is
// too wide.
func drawDistances(b *strings.Builder, m *topology.Machine) {
	if len(m.Nodes) < 2 || len(m.Nodes) > maxDistances {
		return
	}
	b.WriteString("\ndistance")
	for _, to := range m.Nodes {
		fmt.Fprintf(b, "%4d", to.ID)
	}
	for _, from := range m.Nodes {
		fmt.Fprintf(b, "\n%8d", from.ID)
		for _, to := range m.Nodes {
			if d, found := from.Distances[to.ID]; found {
				fmt.Fprintf(b, "%4d", d)
			} else {
				b.WriteString("   ?")
			}
		}
	}
	b.WriteString("\n")
}

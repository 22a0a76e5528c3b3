package nodemap

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// barWidth is the number of characters of the bar that shows how the CPUs of a NUMA node are used.
const barWidth = 24

// Overview writes one line for each NUMA node of the nodes. The line has a bar that shows how the
// NUMA node's CPUs are used, and the numbers of its free CPUs and GPUs.
func Overview(w io.Writer, nodes []Summary) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tREADY\tNUMA\tCPUS\tFREE\tGPUS FREE")
	for _, node := range nodes {
		name, ready := node.Name, node.Ready
		for _, numaNode := range node.NUMA {
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%d/%d\t%s\n", name, ready, numaNode.ID, bar(numaNode), numaNode.Available, numaNode.Allocatable, freeGPUs(numaNode))
			name, ready = "", ""
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n# exclusive  · free  r reserved or shared only")
	return err
}

// bar returns the bar for the CPUs of a NUMA node: first the exclusive CPUs, then the CPUs that can
// still become exclusive, then all others. A part of the bar has a character if, and only if, it
// stands for at least one CPU. The bar of a NUMA node without CPUs is blank.
func bar(n NUMA) string {
	if n.Capacity <= 0 {
		return "[" + strings.Repeat(" ", barWidth) + "]"
	}
	exclusive := part(n.Allocatable-n.Available, n.Capacity)
	reserved := part(n.Capacity-n.Allocatable, n.Capacity)
	free := 0
	if n.Available > 0 {
		free = max(1, barWidth-exclusive-reserved)
	}
	larger := &exclusive // the part that makes the bar exactly as wide as it must be
	if reserved > exclusive {
		larger = &reserved
	}
	*larger += barWidth - exclusive - reserved - free
	return "[" + strings.Repeat("#", exclusive) + strings.Repeat("·", free) + strings.Repeat("r", reserved) + "]"
}

// part returns how many characters of a bar stand for n CPUs of a NUMA node. The parameter `of` is
// the number of all CPUs of the NUMA node. For a positive n, the result is at least 1.
func part(n, of int32) int {
	if n <= 0 {
		return 0
	}
	return max(1, int(n)*barWidth/int(of))
}

// freeGPUs returns how many of a NUMA node's GPUs are free, such as "3/4". For a NUMA node without
// GPUs it returns "-".
func freeGPUs(n NUMA) string {
	if n.GPUs == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", n.FreeGPUs, n.GPUs)
}

package nodemap

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
)

// barWidth is the number of characters that show the CPUs of a NUMA node.
const barWidth = 24

// Overview writes one line for each NUMA node with CPUs, ordered by node: a bar of its
// CPUs, and how many of its CPUs and GPUs are free.
func Overview(w io.Writer, topologies []v1alpha1.NodeTopology) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tREADY\tNUMA\tCPUS\tFREE\tGPUS FREE")
	for i := range topologies {
		for _, line := range linesOf(&topologies[i]) {
			fmt.Fprintln(table, line)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n# exclusive  · free  r reserved or shared only")
	return err
}

// linesOf returns the lines of one node. Only the first has its name and condition.
func linesOf(t *v1alpha1.NodeTopology) (lines []string) {
	name, ready := t.Name, "Unknown"
	if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		ready = string(c.Status)
	}
	for _, n := range t.Status.NUMA {
		if n.Capacity == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%s\t%d/%d\t%s",
			name, ready, n.ID, bar(n.CPUCounts), n.Available, n.Allocatable, freeGPUs(&t.Status, n.ID)))
		name, ready = "", ""
	}
	return lines
}

// bar draws the CPUs of a NUMA node: exclusive ones, then free ones, then the others. A
// part that is not empty has at least one character.
func bar(c v1alpha1.CPUCounts) string {
	exclusive := part(c.Allocatable-c.Available, c.Capacity)
	reserved := part(c.Capacity-c.Allocatable, c.Capacity)
	free := barWidth - exclusive - reserved
	if free == 0 && c.Available > 0 {
		free, exclusive = 1, exclusive-1
	}
	return "[" + strings.Repeat("#", exclusive) + strings.Repeat("·", free) + strings.Repeat("r", reserved) + "]"
}

// part returns the characters of n CPUs of a bar.
func part(n, of int32) int {
	if n <= 0 {
		return 0
	}
	return max(1, int(n)*barWidth/int(of))
}

// freeGPUs returns how many of the physical GPUs of a NUMA node nobody holds, "3/4", or "-"
// if it has none. A GPU of which a share or a slice is held is not free.
func freeGPUs(s *v1alpha1.NodeTopologyStatus, numa int32) string {
	var held []string
	for _, pod := range s.GPUHolders {
		held = append(held, physical(pod.Devices, s.GPUs)...)
	}
	all, free := 0, 0
	for _, g := range s.GPUs {
		if g.Card != "" || g.NUMA == nil || *g.NUMA != numa {
			continue
		}
		all++
		if !slices.Contains(held, g.ID) {
			free++
		}
	}
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", free, all)
}

package e2eutil

import (
	"fmt"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Mark is the letter of the exclusive CPUs of one container in a Picture.
type Mark struct {
	Letter byte
	CPUs   cpuset.Set
}

// Picture draws a machine with one NUMA node per line and a pair of brackets per core. An exclusive
// CPU has the letter of its Mark, and a shared CPU is a dot.
func Picture(machine *topology.Machine, marks []Mark) string {
	var b strings.Builder
	for _, node := range machine.Nodes {
		fmt.Fprintf(&b, "  numa%-2d", node.ID)
		for _, core := range cores(machine, node.CPUs) {
			fmt.Fprintf(&b, " [")
			for c := range core.All() {
				fmt.Fprintf(&b, "%c", letter(marks, c))
			}
			fmt.Fprintf(&b, "]")
		}
		fmt.Fprintf(&b, "   CPUs %v\n", node.CPUs)
	}
	return b.String()
}

// cores splits CPUs into sets of one core each, in the order of the smallest CPU of each core.
func cores(machine *topology.Machine, cpus cpuset.Set) []cpuset.Set {
	var list []cpuset.Set
	index := map[cpuset.CPU]int{}
	for _, cpu := range machine.CPUs {
		if !cpus.Has(cpu.ID) {
			continue
		}
		i, ok := index[cpu.Core]
		if !ok {
			i = len(list)
			index[cpu.Core] = i
			list = append(list, cpuset.Set{})
		}
		list[i] = list[i].Union(cpuset.Of(cpu.ID))
	}
	return list
}

func letter(marks []Mark, cpu cpuset.CPU) byte {
	for _, m := range marks {
		if m.CPUs.Has(cpu) {
			return m.Letter
		}
	}
	return '.'
}

package picture

import (
	"fmt"
	"io"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// columns is the maximum width of a line with CPUs, in characters.
const columns = 80

// Draw writes a machine as text. It writes a line of totals, and the tree of packages, NUMA nodes,
// caches and online CPUs. Then it writes what is not in the tree, such as offline CPUs, and the
// distances between NUMA nodes. In the tree, SMT siblings share a pair of brackets, and GPUs are
// listed with their NUMA nodes. The function in the argument `mark` returns a suffix for a CPU's
// number, such as the letter of the container that holds the CPU. If `mark` is nil, the numbers
// have no suffixes.
func Draw(w io.Writer, machine *topology.Machine, gpus []gpu.GPU, mark func(cpuset.CPU) string) error {
	return draw(w, machine, gpus, mark, nil)
}

// DrawUse writes a machine as Draw does. It marks how the CPUs and GPUs are used, and adds a legend
// with the containers and pods that hold them. If `use` is nil, it writes the same as Draw without
// marks.
func DrawUse(w io.Writer, machine *topology.Machine, gpus []gpu.GPU, use *Use) error {
	if use == nil {
		return draw(w, machine, gpus, nil, nil)
	}
	return draw(w, machine, gpus, use.Mark, use)
}

func draw(w io.Writer, machine *topology.Machine, gpus []gpu.GPU, mark func(cpuset.CPU) string, use *Use) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", totals(machine))
	c := newCells(machine, mark)
	for _, g := range tree(machine, gpus) {
		b.WriteString(g.label + "\n")
		drawGroup(&b, g, "", c)
	}
	drawRemarks(&b, machine, gpus, use)
	drawDistances(&b, machine)
	drawLegend(&b, use)
	_, err := io.WriteString(w, b.String())
	return err
}

// drawGroup writes a group of CPUs, such as a package: its parts, such as NUMA nodes, or its CPUs
// if it has no parts. Each line begins with the text in the argument `indent`.
func drawGroup(b *strings.Builder, g group, indent string, c cells) {
	if len(g.parts) == 0 {
		for _, line := range c.lines(g.cpus, columns-len([]rune(indent))-2) {
			fmt.Fprintf(b, "%s  %s\n", indent, line)
		}
		return
	}
	for i, part := range g.parts {
		branch, below := "├─ ", "│  "
		if i == len(g.parts)-1 {
			branch, below = "└─ ", "   "
		}
		b.WriteString(indent + branch + part.label + "\n")
		drawGroup(b, part, indent+below, c)
	}
}

// drawLegend writes a line for each holder of CPUs or GPUs.
func drawLegend(b *strings.Builder, use *Use) {
	if use == nil || len(use.Held) == 0 {
		return
	}
	b.WriteString("\n" + strings.Join(use.Legend(), "\n") + "\n")
}

// totals returns the first line of a picture, such as "2 packages · 4 NUMA nodes · 8 cores · 16
// CPUs · 62.8 GiB".
func totals(machine *topology.Machine) string {
	packages, cores := map[int]bool{}, map[cpuset.CPU]bool{}
	online := 0
	for _, cpu := range machine.CPUs {
		if !cpu.Online {
			continue
		}
		online++
		packages[cpu.Package] = cpu.Package != topology.Unknown
		cores[cpu.Core] = cpu.Core != topology.Unknown
	}
	var memory uint64
	for _, numaNode := range machine.Nodes {
		memory += numaNode.MemoryBytes
	}
	return strings.Join([]string{
		count(known(packages), "package"), count(len(machine.Nodes), "NUMA node"), count(known(cores), "core"),
		count(online, "CPU"), size(memory),
	}, " · ")
}

// The function `known` returns how many IDs are known. The map has the value true for each known ID.
func known[ID comparable](ids map[ID]bool) int {
	n := 0
	for _, isKnown := range ids {
		if isKnown {
			n++
		}
	}
	return n
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "unknown " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size returns an amount of memory as text in binary units, such as "15.6 GiB".
func size(bytes uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit]
}

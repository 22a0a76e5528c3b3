package picture

import (
	"fmt"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// group is the online CPUs of one part of the machine, such as a package. The field `parts` divides
// these CPUs into smaller groups, such as one for each NUMA node of the package. The smallest
// groups have no parts.
type group struct {
	label string
	parts []group
	cpus  []topology.CPU
}

// level is one level of the tree, such as packages or NUMA nodes. The function `id` returns the ID
// of the part of the machine that has the CPU, such as the ID of its package. The function `label`
// returns the label for such an ID.
type level struct {
	id    func(topology.CPU) int
	label func(id int) string
}

// tree groups the online CPUs by package, die, NUMA node and last-level cache. Groups are sorted by
// their smallest CPU. A level that is unknown for all CPUs is left out.
func tree(machine *topology.Machine, gpus []gpu.GPU) []group {
	var online []topology.CPU
	for _, cpu := range machine.CPUs {
		if cpu.Online {
			online = append(online, cpu)
		}
	}
	var levels []level
	for _, l := range allLevels(machine, gpus) {
		if isKnown(online, l) {
			levels = append(levels, l)
		}
	}
	if len(levels) == 0 {
		return []group{{label: "machine", cpus: online}}
	}
	return split(online, levels)
}

func allLevels(machine *topology.Machine, gpus []gpu.GPU) []level {
	levels := []level{{func(cpu topology.CPU) int { return cpu.Package }, name("package")}}
	if manyDies(machine) {
		levels = append(levels, level{func(cpu topology.CPU) int { return cpu.Die }, name("die")})
	}
	return append(levels,
		level{func(cpu topology.CPU) int { return int(cpu.NUMA) }, func(id int) string { return nodeLabel(machine, id) + gpusOn(gpus, topology.NodeID(id)) }},
		level{func(cpu topology.CPU) int { return int(cpu.LLC) }, name("cache")})
}

// manyDies reports whether any package has more than one die.
func manyDies(machine *topology.Machine) bool {
	die := map[int]int{}
	for _, cpu := range machine.CPUs {
		if !cpu.Online {
			continue
		}
		if first, seen := die[cpu.Package]; seen && first != cpu.Die {
			return true
		}
		die[cpu.Package] = cpu.Die
	}
	return false
}

// isKnown reports whether at least one CPU has a known ID at this level.
func isKnown(cpus []topology.CPU, l level) bool {
	for _, cpu := range cpus {
		if l.id(cpu) != topology.Unknown {
			return true
		}
	}
	return false
}

// split groups CPUs by the first of the given levels, and splits each group by the remaining
// levels. A group with only one part is merged with that part, and gets a label such as "NUMA 0 ·
// cache 0".
func split(cpus []topology.CPU, levels []level) []group {
	if len(levels) == 0 {
		return nil
	}
	var ids []int
	members := map[int][]topology.CPU{}
	for _, cpu := range cpus {
		id := levels[0].id(cpu)
		if members[id] == nil {
			ids = append(ids, id)
		}
		members[id] = append(members[id], cpu)
	}
	var groups []group
	for _, id := range ids {
		g := group{label: levels[0].label(id), parts: split(members[id], levels[1:]), cpus: members[id]}
		if len(g.parts) == 1 {
			g = group{label: g.label + " · " + g.parts[0].label, parts: g.parts[0].parts, cpus: g.cpus}
		}
		groups = append(groups, g)
	}
	return groups
}

// name returns a function that makes labels such as "package 0" from an ID. The argument `what` is
// the word, here "package". A level has such a function in its field `label`.
func name(what string) func(int) string {
	return func(id int) string {
		if id == topology.Unknown {
			return what + " unknown"
		}
		return fmt.Sprintf("%s %d", what, id)
	}
}

func nodeLabel(machine *topology.Machine, id int) string {
	n := machine.Node(topology.NodeID(id))
	if n == nil {
		return "in no NUMA node"
	}
	return fmt.Sprintf("NUMA %d  %s", id, size(n.MemoryBytes))
}

package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Level says how close two GPUs are in the PCIe topology, which depends on their nearest common
// ancestor. The larger the value, the closer are the GPUs.
type Level uint8

// The levels of nvmlGpuTopologyLevel_t.
// https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
const (
	UnknownLevel Level = iota
	System             // NVML_TOPOLOGY_SYSTEM: on different NUMA nodes, connected by the link between sockets or NUMA nodes
	Node               // NVML_TOPOLOGY_NODE: on the same NUMA node, below different host bridges
	HostBridge         // NVML_TOPOLOGY_HOSTBRIDGE: below the same host bridge
	Multiple           // NVML_TOPOLOGY_MULTIPLE: connected through several PCIe switches, but not through a host bridge
	Single             // NVML_TOPOLOGY_SINGLE: below the same PCIe switch
	Internal           // NVML_TOPOLOGY_INTERNAL: on the same board
)

// String returns the level as "nvidia-smi topo -m" writes it. Internal is "INT", and
// UnknownLevel is "?".
func (l Level) String() string {
	if names := levelNames(); int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("Level(%d)", l)
}

func levelNames() [7]string { return [...]string{"?", "SYS", "NODE", "PHB", "PXB", "PIX", "INT"} }

// Link is the connection of two GPUs.
type Link struct {
	NVLinks int // number of NVLinks between the two GPUs
	Level   Level
}

// Compare returns a negative number if k is worse than l, and a positive number if k is
// better. It compares the numbers of NVLinks, and if these are equal, the PCIe levels.
func (k Link) Compare(l Link) int {
	return cmp.Or(cmp.Compare(k.NVLinks, l.NVLinks), cmp.Compare(k.Level, l.Level))
}

// String returns the link as "nvidia-smi topo -m" writes it: "NV12" for twelve NVLinks,
// or else the PCIe level.
func (k Link) String() string {
	if k.NVLinks > 0 {
		return fmt.Sprintf("NV%d", k.NVLinks)
	}
	return k.Level.String()
}

// ParseLink parses the result of String. The PCIe level of a link with NVLinks is then
// unknown, because String leaves it out.
func ParseLink(text string) (Link, error) {
	if digits, ok := strings.CutPrefix(text, "NV"); ok {
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil && n > 0 {
			return Link{NVLinks: int(n)}, nil
		}
	}
	names := levelNames()
	if level := slices.Index(names[:], text); level >= 0 {
		return Link{Level: Level(level)}, nil
	}
	return Link{}, fmt.Errorf("parse link %q: want NV and a positive number, or one of %s", text, strings.Join(names[:], ", "))
}

// Links is the table of the links between all GPUs of a node, by the indices of the two
// GPUs. It is symmetric. The diagonal is unused.
type Links [][]Link

// The method `between` returns the link between two GPUs. The link is unknown if the table is nil.
func (t Links) between(a, b int) Link {
	if t == nil {
		return Link{}
	}
	return t[a][b]
}

func (t Links) check(gpus int) error {
	if len(t) != gpus {
		return fmt.Errorf("check links: %d rows for %d GPUs", len(t), gpus)
	}
	for a := range t {
		if len(t[a]) != gpus {
			return fmt.Errorf("check links: %d columns in row %d for %d GPUs", len(t[a]), a, gpus)
		}
	}
	for a := range t {
		for b := range a {
			if t[a][b] != t[b][a] {
				return fmt.Errorf("check links: GPUs %d and %d: the link is %s in one direction and %s in the other", b, a, t[b][a], t[a][b])
			}
		}
	}
	return nil
}

// self is the text in the place of the link of a GPU to itself.
const self = "-"

// Row returns the links of a GPU to all GPUs, in the order of their indices and in the
// format of the custom resource NodeTopology. For example, ["-", "NV12", "SYS"] is the
// row of the first of three GPUs. Row returns nil if the table is nil.
func (t Links) Row(gpu int) []string {
	if t == nil {
		return nil
	}
	row := make([]string, len(t))
	for other := range t {
		row[other] = t[gpu][other].String()
	}
	row[gpu] = self
	return row
}

// ReadLinks returns the links between some of a machine's GPUs, from the row of each of these GPUs.
// A row has one text for each GPU of the machine: the link to that GPU, or "-" for the GPU of the
// row itself. So a row may also have links to GPUs that are not in the result. If a GPU's row is
// empty, its links are unknown. If all rows are empty, ReadLinks returns nil. The error says which
// rows are invalid or contradict each other.
func ReadLinks(rows [][]string) (Links, error) {
	if !slices.ContainsFunc(rows, func(row []string) bool { return len(row) > 0 }) {
		return nil, nil
	}
	columns, err := columns(rows)
	if err != nil {
		return nil, err
	}
	table := make(Links, len(rows))
	for a, row := range rows {
		table[a] = make([]Link, len(rows))
		for b, column := range columns {
			if a == b || len(row) == 0 || column < 0 {
				continue
			}
			if table[a][b], err = ParseLink(row[column]); err != nil {
				return nil, fmt.Errorf("read links of GPU %d: %w", a, err)
			}
		}
	}
	return table, table.check(len(rows))
}

// columns returns the column that belongs to each GPU in the rows: the position of "-"
// in the GPU's own row. It returns -1 for a GPU with an empty row.
func columns(rows [][]string) ([]int, error) {
	at, gpus := make([]int, len(rows)), 0
	for i, row := range rows {
		at[i] = slices.Index(row, self)
		switch {
		case len(row) == 0:
			continue
		case at[i] < 0 || slices.Contains(at[:i], at[i]):
			return nil, fmt.Errorf("read links of GPU %d: %q: want %q once, in a column of its own", i, row, self)
		case gpus > 0 && len(row) != gpus:
			return nil, fmt.Errorf("read links of GPU %d: the row has %d links, but that of another GPU has %d", i, len(row), gpus)
		}
		gpus = len(row)
	}
	return at, nil
}

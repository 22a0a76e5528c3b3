package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Level is the closest common ancestor of two GPUs in the PCIe topology, from
// unknown to closest.
type Level uint8

// The levels of nvmlGpuTopologyLevel_t.
// https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
const (
	UnknownLevel Level = iota
	System             // NVML_TOPOLOGY_SYSTEM: through the link between sockets or NUMA nodes
	Node               // NVML_TOPOLOGY_NODE: one NUMA node, several host bridges
	HostBridge         // NVML_TOPOLOGY_HOSTBRIDGE: one host bridge
	Multiple           // NVML_TOPOLOGY_MULTIPLE: several PCIe switches, no host bridge
	Single             // NVML_TOPOLOGY_SINGLE: one PCIe switch
	Internal           // NVML_TOPOLOGY_INTERNAL: one board
)

// String returns the level as "nvidia-smi topo -m" does, "INT" for one board,
// and "?" for unknown.
func (l Level) String() string {
	if names := levelNames(); int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("Level(%d)", l)
}

func levelNames() [7]string { return [...]string{"?", "SYS", "NODE", "PHB", "PXB", "PIX", "INT"} }

// Link is the connection of two GPUs.
type Link struct {
	NVLinks int // number of bonded links
	Level   Level
}

// Compare is negative if k is worse than l: first by NVLinks, then by PCIe level.
func (k Link) Compare(l Link) int {
	return cmp.Or(cmp.Compare(k.NVLinks, l.NVLinks), cmp.Compare(k.Level, l.Level))
}

// String returns the link as "nvidia-smi topo -m" does: "NV12", else the level.
func (k Link) String() string {
	if k.NVLinks > 0 {
		return fmt.Sprintf("NV%d", k.NVLinks)
	}
	return k.Level.String()
}

// ParseLink is the inverse of String. The level of a link with NVLinks is unknown,
// because String leaves it out.
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

// Links is the table of all links by the indices of the GPUs. It is symmetric, and
// its diagonal is unused.
type Links [][]Link

// between returns a link, which is unknown without a table.
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

// self stands for the link of a GPU to itself.
const self = "-"

// Row returns the links of a GPU to all GPUs by index, as in NodeTopology:
// ["-", "NV12", "SYS"] is that of the first of three. It is nil without a table.
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

// ReadLinks returns the links between some of a machine's GPUs from their rows. A
// row has the links to all GPUs of the machine, and "-" at the GPU's own index.
// Links of a GPU without a row are unknown; without any row there is no table. The
// error says which rows are invalid or contradict each other.
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

// columns returns the column of each GPU, and -1 for one without a row.
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

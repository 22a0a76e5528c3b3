package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Level is the closest that two cards come over PCIe, from unknown to closest.
type Level uint8

// The levels, as nvmlGpuTopologyLevel_t has them.
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

// Link is how two cards reach each other.
type Link struct {
	NVLinks int // bonded; 0 without
	Level   Level
}

// Compare is negative where k is worse than l: NVLinks count first, then PCIe.
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

// ParseLink is the inverse of String, which says nothing of the level where there
// are NVLinks: it is unknown then.
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
	return Link{}, fmt.Errorf("parse link %q: want NV and a number from 1 on, or one of %s", text, strings.Join(names[:], ", "))
}

// Links is the table of all links, by the cards' positions. It is symmetric, and
// its diagonal means nothing.
type Links [][]Link

// between returns a link; where there is no table, all links are unknown.
func (t Links) between(a, b int) Link {
	if t == nil {
		return Link{}
	}
	return t[a][b]
}

func (t Links) check(cards int) error {
	if len(t) != cards {
		return fmt.Errorf("check links: %d rows for %d cards", len(t), cards)
	}
	for a := range t {
		if len(t[a]) != cards {
			return fmt.Errorf("check links: %d columns in row %d for %d cards", len(t[a]), a, cards)
		}
	}
	for a := range t {
		for b := range a {
			if t[a][b] != t[b][a] {
				return fmt.Errorf("check links: cards %d and %d: %s one way, %s the other", b, a, t[b][a], t[a][b])
			}
		}
	}
	return nil
}

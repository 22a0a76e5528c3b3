package picture_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
)

func TestDraw(t *testing.T) {
	for name, tc := range map[string]struct {
		machine *topology.Machine
		cards   []gpu.Card
		mark    func(cpuset.CPU) string
	}{
		"server": {machine: server()},
		"marked": {machine: server(), mark: func(c cpuset.CPU) string { return map[bool]string{true: "a", false: "·"}[c%8 == 4] }},
		"cards": {machine: server(), cards: []gpu.Card{
			{Model: "NVIDIA H100 80GB HBM3", MemoryBytes: 80 << 30, PCI: "0000:1a:00.0", Health: gpu.Health{State: gpu.Healthy}},
			{Index: 1, Model: "NVIDIA H100 80GB HBM3", MemoryBytes: 80 << 30, PCI: "0000:1b:00.0", Health: gpu.Health{State: gpu.Unhealthy, Reason: "Xid 79: the GPU has fallen off the bus; reset the GPU"}},
			{Index: 2, Model: "NVIDIA H100 80GB HBM3", PCI: "0000:9c:00.0", NUMA: 3, MIG: true, Slices: []gpu.Slice{
				{Profile: "3g.40gb"}, {Profile: "1g.10gb"}, {UUID: "MIG-1", Profile: "1g.10gb", Health: gpu.Health{Reason: "nobody watches"}},
			}},
			{Index: 3, PCI: "0000:9d:00.0", NUMA: topology.Unknown, MIG: true},
			{Index: topology.Unknown, Model: "10de:2330", PCI: "0000:9e:00.0", NUMA: 3},
		}},
		"accelerated": {machine: accelerated()},
		"hybrid":      {machine: hybrid()},
		"dies":        {machine: dies()},
		"untold":      {machine: untold()},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := picture.Draw(&b, tc.machine, tc.cards, tc.mark); err != nil {
				t.Fatal(err)
			}
			scenario.Golden(t, filepath.Join("testdata", name+".txt"), b.String())
			for line := range strings.Lines(b.String()) {
				if n := len([]rune(strings.TrimSpace(line))); n > 80 {
					t.Errorf("a line has %d columns: %s", n, line)
				}
			}
		})
	}
}

package picture_test

import (
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
)

func TestDraw(t *testing.T) {
	for name, tc := range map[string]struct {
		machine *topology.Machine
		gpus    []gpu.GPU
		mark    func(cpuset.CPU) string
	}{
		"server": {machine: server()},
		"marked": {machine: server(), mark: func(cpu cpuset.CPU) string { return map[bool]string{true: "a", false: "·"}[cpu%8 == 4] }},
		"gpus": {machine: server(), gpus: []gpu.GPU{
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
			if err := picture.Draw(&b, tc.machine, tc.gpus, tc.mark); err != nil {
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

func TestSVG(t *testing.T) {
	used := &picture.Use{
		Reserved: cpuset.Of(0, 8),
		Held: []picture.Holder{
			{Name: "default/a <main>", CPUs: cpuset.Of(1, 9)},
			{Name: "default/b main", CPUs: cpuset.Range(4, 5)},
		},
	}
	gpus := []gpu.GPU{{NUMA: 1}, {Index: 1, NUMA: 1}, {Index: 2, NUMA: topology.Unknown}}
	for name, tc := range map[string]struct {
		machine *topology.Machine
		gpus    []gpu.GPU
		use     *picture.Use
	}{
		"server":      {machine: server(), gpus: gpus, use: used},
		"accelerated": {machine: accelerated()},
		"hybrid":      {machine: hybrid()},
		"dies":        {machine: dies()},
		"untold":      {machine: untold()},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := picture.SVG(&b, tc.machine, tc.gpus, tc.use); err != nil {
				t.Fatal(err)
			}
			if err := xml.Unmarshal([]byte(b.String()), new(struct{})); err != nil {
				t.Errorf("not XML: %v", err)
			}
			scenario.Golden(t, filepath.Join("testdata", name+".svg"), b.String())
		})
	}
}

func TestUse(t *testing.T) {
	use := &picture.Use{Reserved: cpuset.Of(0), Held: []picture.Holder{{Name: "default/a main", CPUs: cpuset.Range(2, 3)}}}
	var marks string
	for id := range cpuset.CPU(4) {
		marks += use.Mark(id)
	}
	if got, want := marks+"|"+strings.Join(use.Legend(), ""), "r·AA|A  default/a main  CPUs 2-3"; got != want {
		t.Errorf("marks and legend are %q, want %q", got, want)
	}
}

// TestPaintKeepsColumns checks that a picture with colours has the same text and alignment as a
// picture without colours.
func TestPaintKeepsColumns(t *testing.T) {
	draw := func(paint func(int, string) string) string {
		use := &picture.Use{Paint: paint, Held: []picture.Holder{
			{Name: "default/a main", CPUs: cpuset.Of(1, 9), GPUs: []string{"GPU-1"}}, {Name: "default/b", GPUs: []string{"GPU-1"}},
		}}
		var b strings.Builder
		if err := picture.DrawUse(&b, server(), []gpu.GPU{{UUID: "GPU-1", NUMA: 1}}, use); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	red := func(_ int, text string) string { return "\x1b[1;31m" + text + "\x1b[0m" }
	painted := draw(red)
	plain := strings.NewReplacer("\x1b[1;31m", "", "\x1b[0m", "").Replace(painted)
	if diff := cmp.Diff(draw(nil), plain); diff != "" {
		t.Errorf("without its colours, the painted picture differs (-plain +painted):\n%s", diff)
	}
	if want := "held by " + red(0, "A") + ", " + red(0, "B"); !strings.Contains(painted, want) {
		t.Errorf("no %q in:\n%s", want, painted)
	}
}

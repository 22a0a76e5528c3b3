package kubelet

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/topology"
)

// TestReservedMemory checks the reserved memory for several configurations of a kubelet.
// The machine has two NUMA nodes of 10 GiB, and one with memory but no CPUs.
func TestReservedMemory(t *testing.T) {
	const mib = 1 << 20
	m := machine()
	m.Nodes[0].MemoryBytes, m.Nodes[1].MemoryBytes = 10<<30, 10<<30
	m.Nodes = append(m.Nodes, topology.Node{ID: 2, MemoryBytes: 20 << 30})
	for name, tc := range map[string]struct {
		file string
		want map[topology.NodeID]uint64
	}{
		"no file: the default eviction": {"", map[topology.NodeID]uint64{0: 50 * mib, 1: 50 * mib}},
		"equal parts": {
			"systemReserved: {memory: 1Gi}\nkubeReserved: {memory: 512Mi}\nevictionHard: {memory.available: 500Mi}\n",
			map[topology.NodeID]uint64{0: 1018 * mib, 1: 1018 * mib},
		},
		"other evictions only":     {"evictionHard: {nodefs.available: 10%}\n", map[topology.NodeID]uint64{0: 0, 1: 0}},
		"eviction as a percentage": {"evictionHard: {memory.available: 5%}\n", map[topology.NodeID]uint64{0: 1 << 30, 1: 1 << 30}},
		"per NUMA node": {
			"systemReserved: {memory: 1Gi}\nreservedMemory:\n- {numaNode: 0, limits: {memory: 1124Mi, hugepages-1Gi: 2Gi}}\n",
			map[topology.NodeID]uint64{0: 1124 * mib},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeConfig(t, dir, tc.file, nil)
			c, err := ReadConfig(filepath.Join(dir, "config.yaml"), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, ReservedMemory(c, m)); diff != "" {
				t.Errorf("reserved memory (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReservedMemoryNamesWhatIsWrong(t *testing.T) {
	for file, want := range map[string]string{
		"systemReserved: {memory: much}\n":           `systemReserved.memory: parse quantity "much"`,
		"kubeReserved: {memory: '-1'}\n":             `kubeReserved.memory: quantity "-1" is negative`,
		"evictionHard: {memory.available: all%}\n":   `evictionHard memory.available: "all%" is not a percentage`,
		"evictionHard: {memory.available: 101%}\n":   `"101%" is not a percentage`,
		"evictionHard: {memory.available: little}\n": `parse quantity "little"`,
	} {
		dir := t.TempDir()
		writeConfig(t, dir, file, nil)
		if _, err := ReadConfig(filepath.Join(dir, "config.yaml"), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", file, err, want)
		}
	}
}

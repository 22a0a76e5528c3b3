package pci

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// tree returns the root directory of a machine with these files. Their paths are relative
// to sys/bus/pci/devices or proc/driver/nvidia/gpus.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, content := range files {
		dir := devices
		if strings.HasSuffix(name, "/information") || strings.HasSuffix(name, "/numa_status") {
			dir = drivers
		}
		root[dir+"/"+name] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return root
}

func TestDiscover(t *testing.T) {
	const a, b = "0000:3b:00.0", "0000:5e:00.0"
	for name, tc := range map[string]struct {
		files   map[string]string
		want    []gpu.GPU
		refused string
	}{
		"no PCI": {files: map[string]string{}},
		"two GPUs, by address": {
			files: map[string]string{
				b + "/class": "0x030200", b + "/vendor": "0x10de", b + "/device": "0x2330", b + "/numa_node": "1",
				a + "/class": "0x030000", a + "/vendor": "0x10de", a + "/device": "0x20b2", a + "/numa_node": "0",
				a + "/information": "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 18\nGPU UUID: \t GPU-1-2\nBus Location: \t 0000:3b:00.0",
			},
			want: []gpu.GPU{
				{UUID: "GPU-1-2", Index: -1, Model: "NVIDIA A100-SXM4-80GB", PCI: a},
				{Index: -1, Model: "10de:2330", PCI: b, NUMA: 1},
			},
		},
		"what is no graphics card of NVIDIA's": {files: map[string]string{
			"0000:02:00.0/class": "0x030000", "0000:02:00.0/vendor": "0x1a03",
			"0000:01:00.0/class": "0x068000", "0000:01:00.0/vendor": "0x10de", // an NVSwitch, which is not a GPU
			"0000:03:00.0/class": "0x030000",
		}},
		"vendor untold, but the driver has it": {
			files: map[string]string{"0004:05:00.0/class": "0x030000", "0004:05:00.0/numa_status": "Node: 255"},
			want:  []gpu.GPU{{Index: -1, PCI: "0004:05:00.0", NUMA: topology.Unknown}},
		},
		"firmware and GPU told nothing yet": {
			files: map[string]string{
				a + "/class": "0x030200", a + "/vendor": "0x10de", a + "/numa_node": "-1",
				a + "/information": "Model: \t\t Tesla T4\nGPU UUID: \t GPU-????????-????-????-????-????????????",
			},
			want: []gpu.GPU{{Index: -1, Model: "Tesla T4", PCI: a, NUMA: topology.Unknown}},
		},
		"no number": {
			files:   map[string]string{a + "/class": "0x030200", a + "/vendor": "0x10de", a + "/numa_node": "near"},
			refused: "read NUMA node of PCI device 0000:3b:00.0",
		},
		"no address": {
			files:   map[string]string{"gpu0/class": "0x030200", "gpu0/vendor": "0x10de"},
			refused: `parse PCI address "gpu0"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Discover(tree(tc.files))
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Fatalf("error %v, want %q", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, v.GPUs); diff != "" {
				t.Errorf("GPUs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	got, err := Files(tree(map[string]string{
		"0000:3b:00.0/class": "0x030200", "0000:3b:00.0/vendor": "0x10de", "0000:3b:00.0/numa_node": "0",
		"0000:3b:00.0/information": "GPU UUID: GPU-1", "0000:02:00.0/class": "0x020000",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{devices + "/0000:3b:00.0/class", devices + "/0000:3b:00.0/vendor", devices + "/0000:3b:00.0/numa_node"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

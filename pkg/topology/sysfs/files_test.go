package sysfs_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// TestFilesHoldsAllThatDiscoverReads checks that the result of Files has every existing file that
// Discover opens, and no file with a serial number or with the environment of a process.
func TestFilesHoldsAllThatDiscoverReads(t *testing.T) {
	whole := one().with(tree{
		"cpu/cpu1/online": "0", "cpu/isolated": "", "cpu/cpu0/cpu_capacity": "1",
		"cpu/cpu0/topology/physical_package_id": "0", "cpu/cpu0/topology/die_id": "0",
		"cpu/cpu0/topology/thread_siblings_list": "0", "cpu/cpu0/cache/index0/type": "Data",
		"cpu/cpu0/cache/index0/level": "1", "cpu/cpu0/cache/index0/shared_cpu_list": "0",
		"node/online": "0", "node/possible": "0", "node/node0/distance": "10",
		"node/node0/meminfo": "MemTotal: 1 kB",
		"node/node0/hugepages/hugepages-2048kB/nr_hugepages":    "0",
		"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0",
		"sys/devices/cpu_core/cpus":                             "0", "sys/devices/cpu_atom/cpus": "",
		"proc/meminfo": "MemTotal: 1 kB", "proc/zoneinfo": "Node 0, zone DMA",
		"proc/driver/nvidia/gpus/0000:01:00.0/numa_status": "Node: 0",
		"cpu/cpu0/topology/ppin":                           "0xdeadbeef", "proc/self/environ": "TOKEN=secret",
	}).fs()
	files, err := sysfs.Files(whole)
	if err != nil {
		t.Fatal(err)
	}
	seen := &witness{FS: whole}
	if _, err := sysfs.Discover(seen); err != nil {
		t.Fatal(err)
	}
	for _, name := range seen.files {
		if !slices.Contains(files, name) {
			t.Errorf("Discover reads %s, which Files leaves out", name)
		}
	}
	for _, name := range files {
		if strings.Contains(name, "ppin") || strings.Contains(name, "environ") {
			t.Errorf("Files takes %s, which is nobody's business", name)
		}
	}
}

// witness is a file system that records which files are opened.
type witness struct {
	fs.FS
	files []string
}

func (w *witness) Open(name string) (fs.File, error) {
	file, err := w.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && !info.IsDir() {
		w.files = append(w.files, name)
	}
	return file, nil
}

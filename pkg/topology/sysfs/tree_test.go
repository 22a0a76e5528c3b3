package sysfs_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"github.com/numalet/numalet/pkg/topology"
)

// tree has the texts of a machine's files, by file name. A name that does not begin with sys/ or
// proc/ is relative to sys/devices/system.
type tree map[string]string

// fs returns the tree as a file system. A name that ends in a slash becomes an empty directory.
func (t tree) fs() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range t {
		if !strings.HasPrefix(name, "sys/") && !strings.HasPrefix(name, "proc/") {
			name = "sys/devices/system/" + name
		}
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			files[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		files[name] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return files
}

// The method `with` returns a copy of the tree with additional files. An additional file replaces
// the tree's file with the same name.
func (t tree) with(more tree) tree {
	all := tree{}
	for _, files := range []tree{t, more} {
		for name, content := range files {
			all[name] = content
		}
	}
	return all
}

// describe returns a machine as text, with one line for each CPU and NUMA node:
//
//	cpu0 package 0 die 0 numa 0 core 0 llc 0
//	node0 cpus 0-3 1024 bytes to 0: 10 to 1: 21
func describe(machine *topology.Machine) string {
	var b strings.Builder
	for _, cpu := range machine.CPUs {
		if !cpu.Online {
			fmt.Fprintf(&b, "cpu%d offline\n", cpu.ID)
			continue
		}
		fmt.Fprintf(&b, "cpu%d package %d die %d numa %d core %d llc %d", cpu.ID, cpu.Package, cpu.Die, cpu.NUMA, cpu.Core, cpu.LLC)
		if cpu.Isolated {
			b.WriteString(" isolated")
		}
		if cpu.Kind != topology.UnknownKind {
			b.WriteString(" " + cpu.Kind.String())
		}
		b.WriteString("\n")
	}
	for _, numaNode := range machine.Nodes {
		fmt.Fprintf(&b, "node%d cpus %s", numaNode.ID, numaNode.CPUs)
		if numaNode.MemoryBytes > 0 {
			fmt.Fprintf(&b, " %d bytes", numaNode.MemoryBytes)
		}
		if numaNode.KernelReserved > 0 {
			fmt.Fprintf(&b, " kernel %d", numaNode.KernelReserved)
		}
		for _, pool := range numaNode.HugePages {
			fmt.Fprintf(&b, " %d of %d bytes", pool.Total, pool.SizeBytes)
		}
		for _, to := range machine.Nodes {
			if d, known := numaNode.Distances[to.ID]; known {
				fmt.Fprintf(&b, " to %d: %d", to.ID, d)
			}
		}
		if numaNode.GPU != "" {
			b.WriteString(" gpu " + numaNode.GPU)
		}
		b.WriteString("\n")
	}
	for _, note := range machine.Notes {
		b.WriteString("note: " + note + "\n")
	}
	return b.String()
}

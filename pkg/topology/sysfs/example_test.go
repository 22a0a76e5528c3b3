package sysfs_test

import (
	"fmt"
	"testing/fstest"

	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// Discover can read from any fs.FS, such as the table of files in this example.
func ExampleDiscover() {
	root := fstest.MapFS{
		"sys/devices/system/cpu/online":                       {Data: []byte("0-3")},
		"sys/devices/system/cpu/cpu2/topology/core_cpus_list": {Data: []byte("0,2")},
		"sys/devices/system/node/node0/cpulist":               {Data: []byte("0-3")},
		"sys/devices/system/node/node0/meminfo":               {Data: []byte("Node 0 MemTotal: 1024 kB")},
	}
	m, err := sysfs.Discover(root)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("online:", m.Online())
	fmt.Println("core of CPU 2:", m.CPUs[2].Core)
	fmt.Println("memory of node 0:", m.Node(0).MemoryBytes)
	// Output:
	// online: 0-3
	// core of CPU 2: 0
	// memory of node 0: 1048576
}

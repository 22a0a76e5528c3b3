package deviceplugin

import (
	"fmt"
	"io/fs"

	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// onlineFile lists the online CPUs. The device plugin publishes one device for each online CPU of a
// NUMA node. While a machine runs, the number of devices changes only when this list changes.
// Source: https://docs.kernel.org/admin-guide/cputopology.html
const onlineFile = "sys/devices/system/cpu/online"

// machine caches the topology until the list of online CPUs changes. To check the list, one file
// must be read. To read the whole topology, about twenty files must be read for each CPU. The type
// `machine` is not safe for concurrent use.
type machine struct {
	root   fs.FS
	online string
	last   *topology.Machine
}

func (m *machine) discover() (*topology.Machine, error) {
	text, err := fs.ReadFile(m.root, onlineFile)
	if err != nil {
		return nil, fmt.Errorf("read the online CPUs: %w", err)
	}
	if m.last != nil && m.online == string(text) {
		return m.last, nil
	}
	now, err := sysfs.Discover(m.root)
	if err != nil {
		return nil, err
	}
	m.online, m.last = string(text), now
	return now, nil
}

package deviceplugin

import (
	"fmt"
	"io/fs"

	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// onlineFile lists the CPUs that are online: all that changes in a machine that
// runs, as far as the kubelet's counts go.
// Source: https://docs.kernel.org/admin-guide/cputopology.html
const onlineFile = "sys/devices/system/cpu/online"

// machine reads a machine once, and again when other CPUs are online: reading
// one file costs little, where all of sysfs means some twenty files per CPU.
// Not safe for concurrent use.
type machine struct {
	root   fs.FS
	online string
	last   *topology.Machine
}

func (m *machine) discover() (*topology.Machine, error) {
	text, err := fs.ReadFile(m.root, onlineFile)
	if err != nil {
		return nil, fmt.Errorf("read which CPUs are online: %w", err)
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

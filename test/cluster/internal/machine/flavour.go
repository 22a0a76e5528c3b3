// Package machine describes the virtual machines of the rig and runs them
// under QEMU: two sockets of four cores of two threads, in two or four NUMA nodes.
package machine

import (
	"fmt"
	"strings"
)

// Flavour is one kind of node: its init system, number of NUMA nodes, name, and ports on
// the host's loopback.
type Flavour struct {
	Name        string
	Node        string // Kubernetes node name
	Systemd     bool   // systemd as init and as cgroup driver
	NUMANodes   int
	KubeletPort int // the same inside and outside
	SSHPort     int
}

// Flavours returns all flavours; the first is the default.
func Flavours() []Flavour {
	return []Flavour{
		{Name: "plain", Node: "numa-plain", NUMANodes: 4, KubeletPort: 11250, SSHPort: 11222},
		{Name: "systemd", Node: "numa-systemd", Systemd: true, NUMANodes: 4, KubeletPort: 11251, SSHPort: 11223},
		{Name: "wide", Node: "numa-wide", NUMANodes: 2, KubeletPort: 11252, SSHPort: 11224},
	}
}

// Parse returns the flavour with a name.
func Parse(name string) (Flavour, error) {
	var names []string
	for _, f := range Flavours() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Flavour{}, fmt.Errorf("no flavour %q: there is %s", name, strings.Join(names, ", "))
}

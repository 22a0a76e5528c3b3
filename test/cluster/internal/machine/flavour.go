// Package machine describes the virtual machines of the test cluster, and how QEMU runs them. Each
// machine has two sockets of four cores with two threads each, and two or four NUMA nodes.
package machine

import (
	"fmt"
	"strings"
)

// Flavour is one kind of virtual machine: its init system, number of NUMA nodes, node name, and
// ports on the host's loopback.
type Flavour struct {
	Name        string
	Node        string // Kubernetes node name
	Systemd     bool   // systemd as init and as cgroup driver
	NUMANodes   int
	KubeletPort int // port of the kubelet in the machine, and on the host's loopback
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

// Parse returns the flavour with the given name.
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

// Package machine describes the virtual machines of the test cluster, and how QEMU runs them. Each
// machine has two sockets of four cores with two threads each, and two or four NUMA nodes.
package machine

import (
	"fmt"
	"strings"
)

// Flavour is one kind of virtual machine. The table in Flavours has all properties in which the
// machines differ.
type Flavour struct {
	Name         string
	Systemd      bool // Debian with systemd as init and as cgroup driver; otherwise busybox and cgroupfs
	Backports    bool // the kernel is from the backports of the Debian release, otherwise from the release
	CRIO         bool // the container runtime is CRI-O, otherwise containerd
	NUMANodes    int
	ReservedCPUs string // the kubelet's reservedSystemCPUs
	KernelArgs   string // in addition to kernelArgs

	// Flavours derives the fields below from the name of the flavour and from its position in the
	// table.
	Node        string // Kubernetes node name
	KubeletPort int    // port of the kubelet in the machine, and on the host's loopback
	SSHPort     int    // port on the host's loopback
}

// withoutAppArmor is the kernel argument for machines without Debian and for machines with CRI-O.
// Machines without Debian do not have the program that loads AppArmor profiles. CRI-O is built
// without AppArmor.
const withoutAppArmor = "apparmor=0"

// nfv are kernel arguments as operators of network functions (NFV) set them. The kernel does not
// balance load over the CPUs 4-7, 14 and 15. While one of these CPUs runs a single thread, the
// kernel stops the CPU's timer interrupt. Each of the four NUMA nodes has 8 huge pages.
const nfv = "isolcpus=managed_irq,domain,4-7,14-15 nohz_full=4-7,14-15 rcu_nocbs=4-7,14-15 hugepagesz=2M hugepages=32"

// Flavours returns all flavours; the first is the default.
func Flavours() []Flavour {
	all := []Flavour{
		{Name: "plain", NUMANodes: 4, ReservedCPUs: "0-1", KernelArgs: withoutAppArmor},
		{Name: "systemd", NUMANodes: 4, ReservedCPUs: "0-1", Systemd: true},
		{Name: "wide", NUMANodes: 2, ReservedCPUs: "0-1", KernelArgs: withoutAppArmor},
		{Name: "backports", NUMANodes: 4, ReservedCPUs: "0-1", Systemd: true, Backports: true},
		{Name: "nfv", NUMANodes: 4, ReservedCPUs: "0-1,8-9", Systemd: true, KernelArgs: nfv},
		{Name: "crio", NUMANodes: 4, ReservedCPUs: "0-1", Systemd: true, CRIO: true, KernelArgs: withoutAppArmor},
	}
	for row := range all {
		f := &all[row]
		f.Node, f.KubeletPort, f.SSHPort = "numa-"+f.Name, 11250+row, 11222+row
	}
	return all
}

// Names returns the names of all flavours, separated by sep.
func Names(sep string) string {
	var names []string
	for _, f := range Flavours() {
		names = append(names, f.Name)
	}
	return strings.Join(names, sep)
}

// Parse returns the flavour with the given name.
func Parse(name string) (Flavour, error) {
	for _, f := range Flavours() {
		if f.Name == name {
			return f, nil
		}
	}
	return Flavour{}, fmt.Errorf("no flavour %q: there is %s", name, Names(", "))
}

package machine

import "fmt"

// The machine's size, whatever the number of its NUMA nodes.
const (
	sockets        = 2
	coresPerSocket = 4
	threadsPerCore = 2
	cpus           = sockets * coresPerSocket * threadsPerCore
	memoryMiB      = 6144
)

// Distances as firmware would report them (ACPI SLIT).
const (
	distanceLocal       = 10
	distanceSameSocket  = 12
	distanceOtherSocket = 20
)

// kernelArgs boot the guest's kernel for software emulation: no mitigations,
// no watchdogs that a slow host would trip, no balancing behind the tests' back,
// and RCU grace periods by interrupt: cgroup operations wait for many, each of
// which else takes as long as 16 emulated CPUs need to get round to it. Memory
// is cleared by plain moves and only where it must be: QEMU translates "rep
// stosb" byte by byte, and Debian's kernel clears all that it hands out.
const kernelArgs = "console=ttyS0 loglevel=4 panic=1 nokaslr mitigations=off tsc=reliable clocksource=tsc " +
	"nowatchdog nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 rcupdate.rcu_expedited=1 numa_balancing=disable audit=0 " +
	"clearcpuid=erms,rep_good,fsrm init_on_alloc=0 transparent_hugepage=never psi=0 apparmor=0 kfence.sample_interval=0"

// Boot is all that one machine is started from.
type Boot struct {
	Flavour
	QEMU    string // program
	Kernel  string // bzImage
	Initrd  string
	Disk    string // raw image of the root file system, written to
	Mailbox string // raw image by which files enter, see Post
	Console string // file that receives the serial console
	Monitor string // unix socket of QEMU's machine protocol
}

// Args is the QEMU command line of b. Every listener is on loopback or a
// unix socket.
func (b Boot) Args() []string {
	args := []string{
		b.QEMU, "-name", b.Node,
		"-accel", "tcg,thread=multi", "-cpu", "Skylake-Server",
		"-smp", fmt.Sprintf("%d,sockets=%d,cores=%d,threads=%d", cpus, sockets, coresPerSocket, threadsPerCore),
		"-m", fmt.Sprint(memoryMiB),
		"-kernel", b.Kernel, "-initrd", b.Initrd, "-append", fmt.Sprintf("%s tsc_early_khz=%d", kernelArgs, tscKHz()),
		"-drive", "if=none,id=root,format=raw,cache=unsafe,file=" + b.Disk,
		"-device", "virtio-blk-pci,drive=root",
		"-drive", "if=none,id=mail,format=raw,cache=unsafe,file=" + b.Mailbox,
		"-device", "virtio-blk-pci,drive=mail",
		"-netdev", fmt.Sprintf("user,id=net,hostfwd=tcp:127.0.0.1:%d-:22,hostfwd=tcp:127.0.0.1:%d-:%d",
			b.SSHPort, b.KubeletPort, b.KubeletPort),
		"-device", "virtio-net-pci,netdev=net,romfile=",
		"-device", "virtio-rng-pci",
		"-display", "none", "-serial", "file:" + b.Console,
		"-monitor", "none", "-qmp", "unix:" + b.Monitor + ",server=on,wait=off",
	}
	return append(args, numaArgs(b.NUMANodes)...)
}

// numaArgs lays the CPUs and the memory out in NUMA nodes, with all distances.
func numaArgs(nodes int) []string {
	const node = "node,nodeid=%d,cpus=%d-%d,memdev=mem%[1]d"
	var args []string
	for n := range nodes {
		first, past := n*cpus/nodes, (n+1)*cpus/nodes
		args = append(args,
			"-object", fmt.Sprintf("memory-backend-ram,id=mem%d,size=%dM", n, memoryMiB/nodes),
			"-numa", fmt.Sprintf(node, n, first, past-1))
	}
	for a := range nodes {
		for b := range nodes {
			args = append(args, "-numa", fmt.Sprintf("dist,src=%d,dst=%d,val=%d", a, b, distance(nodes/sockets, a, b)))
		}
	}
	return args
}

// distance between two NUMA nodes, of which so many make up a socket.
func distance(nodesPerSocket, a, b int) int {
	switch {
	case a == b:
		return distanceLocal
	case a/nodesPerSocket == b/nodesPerSocket:
		return distanceSameSocket
	default:
		return distanceOtherSocket
	}
}

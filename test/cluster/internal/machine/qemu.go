package machine

import "fmt"

// The numbers of CPUs and the memory of each machine.
const (
	sockets        = 2
	coresPerSocket = 4
	threadsPerCore = 2
	cpus           = sockets * coresPerSocket * threadsPerCore
	memoryMiB      = 6144
)

// Distances between NUMA nodes in the table of the emulated firmware (ACPI SLIT).
const (
	distanceLocal       = 10
	distanceSameSocket  = 12
	distanceOtherSocket = 20
)

// kernelArgs configure the guest's kernel for software emulation. CPU mitigations and NUMA
// balancing are off. Watchdogs are off, because a slow host would trigger them. RCU grace periods
// are expedited, because a normal one waits for all 16 emulated CPUs, and cgroup operations wait
// for many grace periods. The parameter clearcpuid hides the CPU features for fast string
// instructions, so that the kernel clears memory with plain moves. The string instruction "rep
// stosb" is slow in QEMU, which emulates it byte by byte. Debian's kernel clears memory when it is
// allocated; init_on_alloc=0 turns this off.
const kernelArgs = "console=ttyS0 loglevel=4 panic=1 nokaslr mitigations=off tsc=reliable clocksource=tsc " +
	"nowatchdog nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 rcupdate.rcu_expedited=1 numa_balancing=disable audit=0 " +
	"clearcpuid=erms,rep_good,fsrm init_on_alloc=0 transparent_hugepage=never psi=0 kfence.sample_interval=0"

// Boot has the parameters for the start of one machine.
type Boot struct {
	Flavour
	QEMU    string // path of the program qemu
	Kernel  string // path of the kernel image (bzImage)
	Initrd  string
	Disk    string // raw image of the root file system, which the machine writes to
	Mailbox string // raw image of the mailbox disk (MakeMailbox)
	Console string // file that receives the serial console
	Monitor string // unix socket of QEMU's machine protocol
}

// Args returns the command line of QEMU. All listeners are on loopback or unix sockets.
func (b Boot) Args() []string {
	args := []string{
		b.QEMU, "-name", b.Node,
		"-accel", "tcg,thread=multi", "-cpu", "Skylake-Server",
		"-smp", fmt.Sprintf("%d,sockets=%d,cores=%d,threads=%d", cpus, sockets, coresPerSocket, threadsPerCore),
		"-m", fmt.Sprint(memoryMiB),
		"-kernel", b.Kernel, "-initrd", b.Initrd, "-append", fmt.Sprintf("%s tsc_early_khz=%d %s", kernelArgs, tscKHz(), b.KernelArgs),
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

// numaArgs returns the arguments that divide the CPUs and the memory into NUMA nodes, and that set
// the distances between them.
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

// distance returns the distance between the NUMA nodes a and b, if each socket has nodesPerSocket
// NUMA nodes.
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

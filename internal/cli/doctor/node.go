package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
)

// NodeOptions has paths of files on the node, relative to its root directory. A path that is "" is the
// one that the kubelet's flag names. If no kubelet runs, the file is then var/lib/kubelet/config.yaml,
// and there is no directory.
type NodeOptions struct {
	KubeletConfig    string // the kubelet's configuration file
	KubeletConfigDir string // the kubelet's directory of drop-in files
}

// nodeCheck is a check of a machine's files. If a file does not exist, the function `run` returns a
// finding about that, and no error. If `run` returns an error, the report has a finding with the
// status Unknown.
type nodeCheck struct {
	name string
	run  func(machine) (Finding, error)
}

// machine is the file system of a node, with the paths of files that the checks read.
type machine struct {
	fs.FS
	NodeOptions
	root string // the kubelet's root directory
}

// find sets each path that NodeOptions do not have. If the kubelet runs, its command line has the path.
// If it has no flag --config, then the kubelet has no configuration file, and the path stays "".
func (m *machine) find() {
	running, _ := m.onHost("kubelet") // errors are reported by the check kubelet-managers, which reads flags, too
	config, _ := m.kubeletFlag("config")
	dir, _ := m.kubeletFlag("config-dir")
	root, _ := m.kubeletFlag("root-dir")
	below := func(name string) string { return strings.Trim(name, "/") }
	m.root = cmp.Or(below(root), "var/lib/kubelet")
	m.KubeletConfigDir = cmp.Or(m.KubeletConfigDir, below(dir))
	m.KubeletConfig = cmp.Or(m.KubeletConfig, below(config))
	if m.KubeletConfig == "" && len(running) == 0 {
		m.KubeletConfig = "var/lib/kubelet/config.yaml"
	}
}

func nodeChecks() []nodeCheck {
	return []nodeCheck{
		{"cgroups", checkCgroups},
		{"numa-nodes", checkNUMA},
		{"isolation", checkIsolation},
		{"isolated-cpus", checkIsolated},
		{"container-runtime", checkNRI},
		{"fail-closed", checkRequired},
		{"kubelet-managers", checkManagers},
		{"reserved-cpus", checkReserved},
		{"apparmor", checkAppArmor},
		{"selinux", checkSELinux},
		{"irqbalance", checkIRQBalance},
		{"nvidia-driver", checkDriver},
	}
}

// Node makes all checks of a machine and returns their findings. The argument `root` is the root
// directory of the running machine, or of a captured machine.
func Node(root fs.FS, o NodeOptions) Report {
	m := machine{FS: root, NodeOptions: o}
	m.find()
	var report Report
	for _, c := range nodeChecks() {
		f, err := c.run(m)
		if err != nil {
			f = notChecked(err)
		}
		f.Check = c.name
		report = append(report, f)
	}
	return report
}

// notChecked returns the finding for a check that failed with an error.
func notChecked(err error) Finding {
	f := Finding{Status: Unknown, Found: err.Error(), Why: "the check could not be made", Remedy: "correct the file or directory, or name the right one with a flag of numalet doctor"}
	if errors.Is(err, fs.ErrPermission) {
		f.Remedy = "run numalet doctor --node as root"
	}
	return f
}

// text returns a file's content without leading and trailing blanks, and whether the file exists.
func (m machine) text(name string) (string, bool, error) {
	content, err := fs.ReadFile(m, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return strings.TrimSpace(string(content)), err == nil, err
}

// exists reports whether one of the files exists. It calls fs.Stat with m.FS and not with m, because
// the type `machine` has no method Stat. For a file system without this method, fs.Stat opens the
// file, and a socket cannot be opened.
func (m machine) exists(names ...string) (bool, error) {
	for _, name := range names {
		if _, err := fs.Stat(m.FS, name); !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// processes returns the directories in /proc of the processes whose program has this name, the oldest
// (smallest process ID) first.
func (m machine) processes(name string) (found []string, err error) {
	files, err := fs.Glob(m, "proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if comm, _, err := m.text(file); err == nil && comm == name { // err is not nil if the process has ended since Glob found it
			found = append(found, path.Dir(file))
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return found, nil
}

// onHost is like processes, but leaves out processes in containers, such as the containerd of a pod. If
// the node itself is a container, as those of kind are, it leaves out none.
func (m machine) onHost(name string) ([]string, error) {
	found, err := m.processes(name)
	contained := func(dir string) bool {
		cgroup, _, err := m.text(path.Join(dir, "cgroup"))
		return err == nil && inContainer.MatchString(cgroup)
	}
	if contained("proc/1") {
		return found, err
	}
	return slices.DeleteFunc(found, contained), err
}

// inContainer matches the file /proc/PID/cgroup of a process in a container of the kubelet, Docker or
// Podman.
var inContainer = regexp.MustCompile(`kubepods|/docker[-/]|libpod-`)

func checkCgroups(m machine) (Finding, error) {
	controllers, v2, err := m.text("sys/fs/cgroup/cgroup.controllers")
	switch {
	case err != nil:
		return Finding{}, err
	case v2 && strings.Contains(" "+controllers+" ", " cpuset "):
		driver, err := m.cgroupDriver()
		return Finding{Status: OK, Found: "cgroup v2 with the controller cpuset; " + driver}, err
	case v2:
		return Finding{
			Status: Error, Found: "cgroup v2 without the controller cpuset", Why: "containers cannot be pinned",
			Remedy: "boot without cgroup_disable=cpuset, on a kernel with CONFIG_CPUSETS",
		}, nil
	}
	if _, v1, err := m.text("sys/fs/cgroup/cpuset/cpuset.cpus"); err != nil || v1 {
		return Finding{
			Status: Warning, Found: "cgroup v1", Why: "newer kubelets do not start with cgroup v1 by default (failCgroupV1), and Kubernetes no longer develops support for it",
			Remedy: "boot with systemd.unified_cgroup_hierarchy=1",
		}, err
	}
	return Finding{Status: Error, Found: "no cpuset cgroup is mounted", Why: "containers cannot be pinned", Remedy: "mount cgroup2 at /sys/fs/cgroup"}, nil
}

// cgroupDriver returns a text that says which cgroup driver the kubelet uses. It recognizes the
// driver by the name of the cgroup that the kubelet has made for pods. The kubelet's configuration
// may not name the driver, because the kubelet can ask the container runtime which driver to use. On
// nodes of kind (Kubernetes in Docker), the cgroup for pods is inside the cgroup that the kubelet's
// setting cgroupRoot names.
func (m machine) cgroupDriver() (string, error) {
	for _, cgroup := range []struct{ pattern, driver string }{
		{"kubepods.slice", "systemd"}, {"*/*-kubepods.slice", "systemd"}, {"kubepods", "cgroupfs"}, {"*/kubepods", "cgroupfs"},
	} {
		if found, err := fs.Glob(m, "sys/fs/cgroup/"+cgroup.pattern); err != nil || len(found) > 0 {
			return "the cgroup driver is " + cgroup.driver, err
		}
	}
	return "the kubelet has no cgroup for pods yet", nil
}

func checkNUMA(m machine) (Finding, error) {
	nodes, err := fs.Glob(m, "sys/devices/system/node/node[0-9]*")
	if err != nil || len(nodes) > 1 {
		return Finding{Status: OK, Found: fmt.Sprintf("%d NUMA nodes", len(nodes))}, err
	}
	return Finding{Status: Info, Found: "one NUMA node", Why: "the policies spread and single are the same here; exclusive CPUs work"}, nil
}

// checkIsolation checks that the kernel has the files with which the agent moves interrupts and
// unbound workqueues to other CPUs, and turns the cgroups of containers into cpuset partitions.
// Sources: https://docs.kernel.org/core-api/irq/irq-affinity.html,
// https://docs.kernel.org/core-api/workqueue.html and
// https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset.
func checkIsolation(m machine) (Finding, error) {
	for _, name := range []string{"proc/irq/default_smp_affinity", "sys/devices/virtual/workqueue/cpumask"} {
		_, there, err := m.text(name)
		if err != nil {
			return Finding{}, err
		}
		if !there {
			return Finding{
				Status: Info, Found: "no file /" + name, Why: "pods with the annotation numalet.dev/isolation are refused here; exclusive CPUs work",
			}, nil
		}
	}
	// The pattern is only for the children of the root cgroup, because the root cgroup itself never
	// has this file.
	partitions, err := fs.Glob(m, "sys/fs/cgroup/*/cpuset.cpus.exclusive")
	if err != nil || len(partitions) == 0 {
		return Finding{
			Status: Info, Found: "no file cpuset.cpus.exclusive in a cgroup below /sys/fs/cgroup; it needs cgroup v2 and Linux 6.7",
			Why: "pods with the annotation numalet.dev/isolation run here, and only interrupts and unbound workqueues are kept off their CPUs",
		}, err
	}
	return Finding{Status: OK, Found: "interrupts, unbound workqueues and other processes can be kept off CPUs, with deploy/isolation"}, nil
}

// checkIsolated checks that no CPU of the kernel parameter isolcpus is reserved for the system.
// Containers without exclusive CPUs may run on reserved CPUs. If such a CPU is isolated, the kernel
// does not move threads from it to another isolated CPU, so all threads of such a container can be
// on one CPU. Isolated CPUs that are not reserved cause no such problem, because only containers
// with exclusive CPUs run on them.
func checkIsolated(m machine) (Finding, error) {
	list, _, err := m.text("sys/devices/system/cpu/isolated")
	if err != nil || list == "" {
		return Finding{Status: OK, Found: "no CPU is isolated by the kernel's command line"}, err
	}
	isolated, err := cpuset.Parse(list)
	if err != nil {
		return Finding{}, err
	}
	kubelet, _, err := m.kubelet()
	if err != nil {
		return Finding{}, err
	}
	reserved, err := cpuset.Parse(kubelet.ReservedSystemCPUs)
	if err != nil {
		return Finding{}, err
	}
	if both := isolated.Intersect(reserved); !both.Empty() {
		return Finding{
			Status: Warning, Found: fmt.Sprintf("isolcpus has %s, of which %s are reserved for the system", isolated, both),
			Why:    "shared containers may run on reserved CPUs, and the kernel does not move threads from one isolated CPU to another: all threads of such a container can be on one CPU",
			Remedy: "remove these CPUs from isolcpus in the kernel's command line, or from reservedSystemCPUs in " + m.kubeletFiles(),
		}, nil
	}
	return Finding{
		Status: Info, Found: "isolcpus has " + isolated.String(),
		Why: "containers get these CPUs only as exclusive CPUs, before other CPUs; a program with several threads must bind its threads to them, because the kernel does not",
	}, nil
}

// checkNRI checks that the socket of NRI exists. If the container runtime is CRI-O, checkNRI also
// checks that the agent can end containers, because CRI-O starts a container even if the agent
// refuses the start.
func checkNRI(m machine) (Finding, error) {
	there, err := m.exists("var/run/nri/nri.sock", "run/nri/nri.sock")
	if err != nil {
		return Finding{}, err
	}
	if !there {
		return Finding{
			Status: Error, Found: "no socket /var/run/nri/nri.sock", Why: "the agent cannot pin containers before they start",
			Remedy: "run containerd 2.0 or later, or CRI-O 1.36 or later, without disabling NRI, or set --enforce=cgroup for the agent (docs/tasks/administer.md, A runtime without NRI)",
		}, nil
	}
	crio, err := m.onCRIO()
	if err != nil {
		return Finding{}, err
	}
	kill, err := fs.Glob(m, "sys/fs/cgroup/*/cgroup.kill") // the root cgroup never has this file
	if err != nil || crio && len(kill) == 0 {
		return Finding{
			Status: Error, Found: "CRI-O, and no file cgroup.kill in a cgroup below /sys/fs/cgroup",
			Why:    "CRI-O starts a container even if the agent refuses the start, and only with this file the agent can end the container; without it, the agent does not support the node",
			Remedy: "use cgroup v2 and Linux 5.14 or later (docs/tasks/administer.md, CRI-O)",
		}, err
	}
	if crio {
		return Finding{Status: OK, Found: "the socket of NRI exists; it was not checked whether CRI-O is 1.36 or later"}, nil
	}
	return m.checkContainerd()
}

// checkContainerd checks that the running containerd is 2.0 or later, because the agent supports no
// older version. It looks for the name of containerd's Go module in its program.
func (m machine) checkContainerd() (Finding, error) {
	_, program, err := m.containerd()
	if err != nil {
		return Finding{}, err
	}
	if program != "" {
		content, there, err := m.text(program)
		if errors.Is(err, fs.ErrPermission) {
			return Finding{Status: OK, Found: "the socket of NRI exists; only root can check whether containerd is 2.0 or later"}, nil
		}
		if err != nil {
			return Finding{}, err
		}
		if there && !strings.Contains(content, "github.com/containerd/containerd/v2") {
			return Finding{
				Status: Error, Found: "containerd is older than 2.0", Why: "the agent does not support it, and is not ready",
				Remedy: "upgrade to containerd 2.0 or later, or set --enforce=cgroup for the agent (docs/tasks/administer.md, A runtime without NRI)",
			}, nil
		}
	}
	return Finding{Status: OK, Found: "the socket of NRI exists"}, nil
}

// These match the settings of CRI-O that make it require NRI plugins. The submatch is the value.
var (
	crioValidates = regexp.MustCompile(`(?m)^\s*nri_enable_default_validator\s*=\s*(\w+)`)
	crioRequires  = regexp.MustCompile(`(?m)^\s*nri_validator_required_plugins\s*=\s*(\[[^\]]*\])`)
)

// checkRequiredByCRIO checks that CRI-O's configuration requires the agent. CRI-O reads crio.conf,
// and then the files in the directory crio.conf.d in the order of their names. If several files have
// a setting, the last of them takes effect. CRI-O requires plugins only if its built-in validator is
// enabled (nri_enable_default_validator). Without this setting, the validator is disabled.
func checkRequiredByCRIO(m machine) (Finding, error) {
	files, err := fs.Glob(m, "etc/crio/crio.conf.d/*")
	if err != nil {
		return Finding{}, err
	}
	var all strings.Builder
	for _, name := range append([]string{"etc/crio/crio.conf"}, files...) {
		text, _, err := m.text(name)
		if err != nil {
			return Finding{}, err
		}
		all.WriteString(text + "\n")
	}
	f := Finding{
		Status: Warning, Found: "CRI-O does not require the agent", Why: "while the agent is away, containers start on all CPUs, exclusive ones included",
		Remedy: "copy deploy/crio/numalet.conf to /etc/crio/crio.conf.d and restart CRI-O (docs/tasks/administer.md, CRI-O)",
	}
	switch plugins := lastMatch(crioRequires, all.String()); {
	case !strings.Contains(plugins, `"numalet"`) && !strings.Contains(plugins, "'numalet'"):
	case lastMatch(crioValidates, all.String()) != "true":
		f.Found = "CRI-O does not require the agent, because nri_enable_default_validator is not true"
	default:
		f = Finding{Status: OK, Found: "CRI-O requires the agent"}
	}
	return f, nil
}

// lastMatch returns the submatch of the last match of a regular expression in a text, or "".
func lastMatch(re *regexp.Regexp, text string) string {
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

func checkAppArmor(m machine) (Finding, error) {
	enabled, _, err := m.text("sys/module/apparmor/parameters/enabled")
	if err != nil || enabled != "Y" {
		return Finding{Status: OK, Found: "AppArmor is off"}, err
	}
	return Finding{Status: Info, Found: "AppArmor is on", Why: "its default profile denies D-Bus to containers; deploy/daemonset sets Unconfined for the agent"}, nil
}

func checkSELinux(m machine) (Finding, error) {
	enforce, _, err := m.text("sys/fs/selinux/enforce")
	if err != nil || enforce != "1" {
		return Finding{Status: OK, Found: "SELinux does not enforce"}, err
	}
	return Finding{
		Status: Warning, Found: "SELinux enforces", Why: "it may deny the agent the cgroups of containers, and the sockets of the container runtime and systemd; Numalet was not tested with it",
		Remedy: "if the agent is not ready, set seLinuxOptions in the DaemonSet (docs/tasks/troubleshoot.md, SELinux)",
	}, nil
}

func checkIRQBalance(m machine) (Finding, error) {
	found, err := m.processes("irqbalance")
	if err != nil || len(found) == 0 {
		return Finding{Status: OK, Found: "irqbalance does not run"}, err
	}
	return Finding{
		Status: Warning, Found: "irqbalance runs (process " + path.Base(found[0]) + ")", Why: "it moves interrupts to exclusive CPUs, and pods with the annotation numalet.dev/isolation are refused",
		Remedy: "systemctl disable --now irqbalance; where no pod uses numalet.dev/isolation, it is enough to ban the CPUs with IRQBALANCE_BANNED_CPULIST, and this warning stays",
	}, nil
}

func checkDriver(m machine) (Finding, error) {
	text, loaded, err := m.text("proc/driver/nvidia/version")
	if loaded {
		first, _, _ := strings.Cut(text, "\n")
		return Finding{Status: OK, Found: first}, nil
	}
	gpus, globErr := m.gpus()
	if err = errors.Join(err, globErr); err != nil || gpus == 0 {
		return Finding{Status: OK, Found: "no NVIDIA GPU"}, err
	}
	return Finding{
		Status: Warning, Found: fmt.Sprintf("%d NVIDIA GPUs, but no driver is loaded", gpus), Why: "the GPUs are not offered",
		Remedy: "install NVIDIA's driver, and then deploy/gpu",
	}, nil
}

// gpus returns the number of NVIDIA's display controllers on the PCI bus: vendor 0x10de,
// class 0x03.
func (m machine) gpus() (n int, err error) {
	vendors, err := fs.Glob(m, "sys/bus/pci/devices/*/vendor")
	if err != nil {
		return 0, err
	}
	for _, name := range vendors {
		vendor, _, err := m.text(name)
		if err != nil {
			return 0, err
		}
		class, _, err := m.text(path.Join(path.Dir(name), "class"))
		if err != nil {
			return 0, err
		}
		if vendor == "0x10de" && strings.HasPrefix(class, "0x03") {
			n++
		}
	}
	return n, nil
}

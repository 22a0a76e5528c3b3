package config

import (
	"time"

	"github.com/spf13/pflag"
)

// Process has the settings that all programs other than the command line tool have.
type Process struct {
	HealthAddr string // host:port of /healthz and /readyz, and of /metrics except in the controller
	LogFormat  LogFormat
	Verbosity  int // highest level of messages that are logged: 0 facts, 2 decisions, 4 internals, 6 debug
}

// Shared has the settings that the agent and the device plugin have in common.
type Shared struct {
	Process
	ReservedCPUs     Reserved
	ExclusiveCPUs    bool   // if false, the node offers pods no exclusive CPUs, and no container is pinned
	KubeletDir       string // the kubelet's root directory
	KubeletConfig    string // the kubelet's configuration file; may be absent
	KubeletConfigDir string // the kubelet's drop-in directory; "" for none
	SysfsRoot        string // the directory that contains the machine's sys and proc
	GPUSocket        string // the socket of numalet-nvml; "" if Numalet assigns no GPUs on the node
	NodeName         string
	Kubeconfig       string // name of the kubeconfig file; "" for the cluster that this pod runs in
	Controller       bool   // whether a controller runs in the cluster; if so, its placements are applied and the NodeTopology is published
}

// Agent is the configuration of numalet-agent (cmd/agent).
type Agent struct {
	Shared
	MetricsAddr  string // host:port of a second server of /metrics, which serves only authorized users; "" for none
	DevicePlugin string // URL of the device plugin of this node
	RequestForm  RequestForm
	FullCores    bool // no two pods get exclusive CPUs of the same core
	Enforce      Enforce
	NRISocket    string
	Checkpoint   string
	CgroupRoot   string
	// GPUExemptNamespaces are namespaces of programs such as GPU monitors. A container
	// in these namespaces sees the GPUs that its environment names, even if the kubelet
	// allocated no GPU to the container.
	GPUExemptNamespaces Names
	HostProc            string // the host's /proc
	Isolation           bool   // keep interrupts and other processes off the CPUs of pods with the annotation numalet.dev/isolation
	LeaseNS             string // namespace of the Lease that shows that the agent runs
	// The agent reports a container with an event and a condition if interrupts, kernel threads and
	// other processes used at least ForeignTimeThreshold percent of the time of the container's
	// exclusive CPUs in the last ForeignTimeWindow. A threshold of 0 disables the report.
	ForeignTimeThreshold float64
	ForeignTimeWindow    time.Duration
}

// DevicePlugin is the configuration of numalet-deviceplugin (cmd/deviceplugin).
type DevicePlugin struct {
	Shared
	Refresh     time.Duration // time between checks of the machine and the kubelet's socket
	GPUResource string        // the resource of whole GPUs
	GPUShares   int           // number of shares of each GPU; 0 for none
	GPUMPSDir   string        // the host's directory of the MPS control daemon; "" for time-sliced shares
	CDIKind     string        // kind of the CDI devices; "" to use NVIDIA_VISIBLE_DEVICES instead of CDI devices
}

// DecidedGPUs reports whether a controller decides which GPUs containers get.
func (d DevicePlugin) DecidedGPUs() bool { return d.Controller && d.GPUSocket != "" }

// WatchesPods reports whether the device plugin needs to know its node's pods.
func (d DevicePlugin) WatchesPods() bool {
	return d.DecidedGPUs() || d.GPUSocket != "" && d.GPUShares > 0
}

func defaultShared() Shared {
	return Shared{
		ExclusiveCPUs: true,
		KubeletDir:    "/var/lib/kubelet",
		KubeletConfig: "/var/lib/kubelet/config.yaml",
		SysfsRoot:     "/",
		Process:       Process{LogFormat: Text},
	}
}

// DefaultGPUExemptNamespaces returns the default value of the flag
// --gpu-exempt-namespaces.
func DefaultGPUExemptNamespaces() Names {
	return Names{"kube-system", "numalet-system", "gpu-operator"}
}

func defaultAgent() Agent {
	a := Agent{
		Shared:       defaultShared(),
		DevicePlugin: "http://127.0.0.1:8124",
		RequestForm:  PolicyForm,
		Enforce:      NRI,
		NRISocket:    "/var/run/nri/nri.sock",
		Checkpoint:   "/var/lib/numalet/checkpoint.json",
		CgroupRoot:   "/sys/fs/cgroup",

		GPUExemptNamespaces: DefaultGPUExemptNamespaces(),

		HostProc:             "/proc",
		LeaseNS:              "numalet-system",
		ForeignTimeThreshold: 5,
		ForeignTimeWindow:    5 * time.Minute,
	}
	a.HealthAddr = "127.0.0.1:8123"
	return a
}

func defaultDevicePlugin() DevicePlugin {
	d := DevicePlugin{Shared: defaultShared(), Refresh: 10 * time.Second, GPUResource: "nvidia.com/gpu"}
	d.HealthAddr = "127.0.0.1:8124"
	return d
}

// bind adds a flag for each setting to the flag set. The default of each flag is the value
// that the setting has at this time.
func (s *Shared) bind(settings *pflag.FlagSet) {
	settings.TextVar(&s.ReservedCPUs, "reserved-cpus", s.ReservedCPUs, "CPUs that are never exclusive: a `list` such as 0-1,8; none; or kubelet for those that the kubelet's configuration reserves.")
	settings.BoolVar(&s.ExclusiveCPUs, "exclusive-cpus", s.ExclusiveCPUs, "Serve exclusive CPUs on this node. false publishes none and refuses pods that request them.")
	settings.StringVar(&s.KubeletDir, "kubelet-dir", s.KubeletDir, "The kubelet's root `directory` (its --root-dir).")
	settings.StringVar(&s.KubeletConfig, "kubelet-config", s.KubeletConfig, "The kubelet's configuration `file`. It may be absent.")
	settings.StringVar(&s.KubeletConfigDir, "kubelet-config-dir", s.KubeletConfigDir, "The kubelet's drop-in `directory` of *.conf files (its --config-dir).")
	settings.StringVar(&s.SysfsRoot, "sysfs-root", s.SysfsRoot, "`Directory` that holds the machine's sys and proc.")
	settings.StringVar(&s.GPUSocket, "gpu-socket", s.GPUSocket, "Unix `socket` of numalet-nvml on this node. Empty means that Numalet offers no GPUs on this node.")
	settings.StringVar(&s.NodeName, "node-name", s.NodeName, "The `name` of this node in the cluster.")
	bindKubeconfig(settings, &s.Kubeconfig)
	settings.BoolVar(&s.Controller, "controller", s.Controller, "Work with the cluster controller: apply its placements of CPUs and GPUs, accept CPU requests by policy (numalet.dev/cpu-policy) and by NUMA node (such as numalet.dev/numa1-cpu), and publish NodeTopology. false refuses every placement.")
	renameEnv(settings, "node-name", "NODE_NAME")
	s.Process.bind(settings)
}

func bindKubeconfig(settings *pflag.FlagSet, file *string) {
	settings.StringVar(file, "kubeconfig", *file, "Kubeconfig `file`. Empty uses the pod's service account.")
}

func (p *Process) bind(settings *pflag.FlagSet) {
	settings.StringVar(&p.HealthAddr, "health-addr", p.HealthAddr, "Listen address (`host:port`) of /healthz, /readyz and /metrics.")
	settings.TextVar(&p.LogFormat, "log-format", p.LogFormat, "Log `format`: text or json.")
	settings.IntVarP(&p.Verbosity, "verbosity", "v", p.Verbosity, "Log `level`: 0 facts, 2 decisions, 4 internals, 6 debug.")
}

func (a *Agent) bind(settings *pflag.FlagSet) {
	a.Shared.bind(settings)
	settings.StringVar(&a.MetricsAddr, "metrics-addr", a.MetricsAddr, "Listen address (`host:port`) of a second server of /metrics, over HTTPS with a self-signed certificate. It serves users whom the API server authenticates and whose role allows get on the nonResourceURL /metrics. At the path /metrics/deviceplugin, it serves the metrics of the device plugin. Empty disables this server. The agent's account must be allowed to create tokenreviews and subjectaccessreviews.")
	settings.StringVar(&a.DevicePlugin, "device-plugin", a.DevicePlugin, "Address (`URL`) of the device plugin of this node (its --health-addr), whose metrics are served at --metrics-addr.")
	settings.TextVar(&a.RequestForm, "cpu-request-form", a.RequestForm, "The `form` of CPU requests that this node serves if --controller is false: policy (the annotation numalet.dev/cpu-policy) or explicit (limits such as numalet.dev/numa1-cpu).")
	settings.BoolVar(&a.FullCores, "full-cores", a.FullCores, "Never let two pods share a physical core.")
	settings.TextVar(&a.Enforce, "enforce", a.Enforce, "`Method` of pinning: nri, or cgroup for a runtime without NRI.")
	settings.StringVar(&a.NRISocket, "nri-socket", a.NRISocket, "NRI `socket` of the container runtime.")
	settings.StringVar(&a.Checkpoint, "checkpoint", a.Checkpoint, "Checkpoint `file` with the CPUs of every pod.")
	settings.StringVar(&a.CgroupRoot, "cgroup-root", a.CgroupRoot, "Mount point (`directory`) of the cgroup file system.")
	settings.TextVar(&a.GPUExemptNamespaces, "gpu-exempt-namespaces", a.GPUExemptNamespaces, "Namespaces of GPU monitors and similar programs, as a `list` with commas. A container in these namespaces sees the GPUs that its environment variable NVIDIA_VISIBLE_DEVICES lists, even if no GPU was allocated to it. On nodes with GPUs, containers in other namespaces see only GPUs that were allocated to them.")
	settings.StringVar(&a.HostProc, "host-proc", a.HostProc, "`Directory` with the host's /proc, in which the agent finds the threads of the kernel. In a container, this is the directory at which the host's /proc is mounted.")
	settings.BoolVar(&a.Isolation, "isolation", a.Isolation, "Serve pods with the annotation numalet.dev/isolation: keep interrupts, unbound workqueues and other processes off the exclusive CPUs of these pods. This needs the permissions and mounts of deploy/isolation.")
	settings.StringVar(&a.LeaseNS, "lease-namespace", a.LeaseNS, "The `namespace` of the Lease that the agent renews while it runs. The agent has a Lease only if --controller is true.")
	renameEnv(settings, "lease-namespace", "POD_NAMESPACE")
	settings.Float64Var(&a.ForeignTimeThreshold, "foreign-time-threshold", a.ForeignTimeThreshold, "If interrupts, kernel threads and other processes use at least this `percentage` of the time of a container's exclusive CPUs within --foreign-time-window, the agent reports this as an event and a condition. 0 reports nothing.")
	settings.DurationVar(&a.ForeignTimeWindow, "foreign-time-window", a.ForeignTimeWindow, "The `duration` over which --foreign-time-threshold applies.")
}

func (d *DevicePlugin) bind(settings *pflag.FlagSet) {
	d.Shared.bind(settings)
	settings.DurationVar(&d.Refresh, "refresh", d.Refresh, "How often the machine and the kubelet's socket are checked for changes, as a `duration`.")
	settings.StringVar(&d.GPUResource, "gpu-resource", d.GPUResource, "The `name` of the resource of whole GPUs. The resource of shares has this name with .shared added, such as nvidia.com/gpu.shared. Resources of MIG slices have the same domain, such as nvidia.com/mig-1g.10gb.")
	settings.IntVar(&d.GPUShares, "gpu-shares", d.GPUShares, "Number of shares of each GPU that are offered besides the whole GPU. 0 offers no shares. A GPU is never allocated as a whole and in shares at the same time.")
	settings.StringVar(&d.GPUMPSDir, "gpu-mps-dir", d.GPUMPSDir, "`Directory` on the host that has the directories pipe and shm of the control daemon of NVIDIA's Multi-Process Service (MPS). The daemon then limits the memory and the threads of each share. Empty means that the containers of a GPU take turns (time slicing).")
	settings.StringVar(&d.CDIKind, "gpu-cdi-kind", d.CDIKind, "Give GPUs to containers as devices of the Container Device Interface (CDI) of this `kind`, named by UUID. The kind is numalet.dev/gpu, for the specification that numalet-nvml writes, or nvidia.com/gpu, for the specification that nvidia-ctk writes. If this setting is empty, the environment variable NVIDIA_VISIBLE_DEVICES names the GPUs instead.")
}

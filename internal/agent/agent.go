package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/internal/agent/checkpoint"
	"github.com/numalet/numalet/internal/agent/foreign"
	"github.com/numalet/numalet/internal/agent/isolation"
	"github.com/numalet/numalet/internal/agent/node"
	"github.com/numalet/numalet/internal/agent/node/metrics"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/sysfs"
	"github.com/numalet/numalet/pkg/workload"
)

// agent has all parts of the program numalet-agent.
type agent struct {
	cfg        config.Agent
	log        logr.Logger
	client     kubernetes.Interface
	pods       *nodeapi.Pods
	events     *nodeapi.Events
	cluster    *cluster      // nil without numalet-controller
	gpus       *gpus         // nil if Numalet assigns no GPUs on this node
	holders    *gpuHolders   // finds the pods that hold the node's GPUs; nil without numalet-controller, or if gpus is nil
	gpuHealth  *gpuCondition // keeps the condition NumaletGPUUnhealthy of the Node up to date
	cgroups    *cgroup.Cgroups
	node       *node.Node
	runtime    adapter // pins containers to their CPUs, by hooks of the container runtime (NRI) or by writing cgroups
	needs      []need  // all of them must be ready before the node gets the label numalet.dev/exclusive-cpus
	podChanged func()  // notifies the adapter in the field `runtime` that a pod has changed; with NRI, it does nothing
	kubelet    *kubeletCheck
	unreserved bool                 // no CPU is reserved
	usable     cpuset.Set           // the CPUs that were online, and in the kubelet's cgroup, when the agent started
	lacking    string               // why containers cannot use some online CPUs; "" if they can use all
	marked     atomic.Pointer[bool] // whether the node has the label numalet.dev/exclusive-cpus; nil while unknown
	foreign    *foreign.Monitor
	isolation  *isolation.Isolation
	readiness  []telemetry.Check // the checks that /readyz reports
	health     *telemetry.Server
	metrics    *telemetry.Server // nil without --metrics-addr
	measured   *metrics.Metrics
	// confinement checks that Numalet's admission policies are in force. These policies restrict
	// what the agent's service account can write.
	confinement *kubeapi.Confinement
}

// newAgent creates the parts of the agent, but does not start them. It first reads the machine's
// topology and the kubelet's configuration, and then the checkpoint, which is the file with the
// exclusive CPUs of each container.
func newAgent(ctx context.Context, cfg config.Agent, log logr.Logger) (_ *agent, err error) {
	a := &agent{cfg: cfg, log: log, podChanged: func() {}}
	machine, reserved, err := readMachine(cfg, log)
	if err != nil {
		return nil, err
	}
	if a.cgroups, err = cgroup.New(cgroup.Options{Root: cfg.CgroupRoot}); err != nil {
		return nil, err
	}
	if machine, err = a.restrict(machine); err != nil {
		return nil, err
	}
	a.usable = machine.Online()
	if a.client, err = nodeapi.NewClient(cfg.Kubeconfig); err != nil {
		return nil, err
	}
	handlers := nodeapi.Handlers{
		Changed:  func(pod *corev1.Pod) { a.podChanged(); a.cluster.changed(pod); a.holders.notify() },
		Ended:    func(pod *corev1.Pod) { a.node.PodEnded(v1alpha1.NodeUID(pod)); a.holders.notify() },
		Panicked: a.panicked,
	}
	if a.pods, err = nodeapi.NewPods(a.client, cfg.NodeName, handlers); err != nil {
		return nil, err
	}
	a.confinement = kubeapi.NewConfinement(kubeapi.ConfinementOptions{Try: func(ctx context.Context) error {
		return nodeapi.Overstep(ctx, a.client, cfg.NodeName)
	}})
	a.events = nodeapi.NewEvents(ctx, a.client, cfg.NodeName)
	if err := a.newCluster(); err != nil {
		return nil, err
	}
	a.gpus = newGPUs(cfg, a.gpusChanged, log)
	a.newGPUCondition()
	registry := telemetry.NewRegistry("numalet-agent", telemetry.Version())
	measured := metrics.New(registry)
	a.measured = measured
	if err := a.newNode(machine, reserved, measured); err != nil {
		return nil, err
	}
	a.newGPUHolders()
	a.newForeign()
	registry.MustRegister(metrics.Holdings{View: a.node.View}, metrics.Foreign{Times: a.foreignTimes})
	if a.gpus != nil {
		registry.MustRegister(metrics.GPUs{Inventory: a.gpus.latest})
	}
	a.newAdapter(measured)
	a.checkConfig(reserved.cpus)
	a.needs = []need{
		{"RuntimeNotServed", a.runtime.Ready}, {"SystemdUnreachable", a.cgroups.Ready}, {kubelet.CPUManagerStatic, a.kubelet.ready},
	}
	a.readiness = a.checks()
	if a.health, err = telemetry.NewServer(cfg.HealthAddr, registry, a.readiness...); err != nil {
		return nil, err
	}
	a.metrics, err = newMetricsServer(cfg, telemetry.Metrics(registry), log)
	return a, err
}

// panicked counts and logs a panic in an NRI hook or in the handling of a changed pod. The deferred
// function that recovers the panic must itself call the method `panicked`. Otherwise the logged
// stack trace does not show where the panic began.
func (a *agent) panicked(object string, cause any) {
	a.measured.Panicked()
	a.log.Error(fmt.Errorf("panic: %v", cause), "the hook failed, or the change of the pod is ignored until the next one; please report this with the stack", "object", object, "stack", string(debug.Stack()))
}

// reservation is the CPUs that Numalet never gives to a container exclusively, and how much memory
// of each NUMA node is kept for the system.
type reservation struct {
	cpus   cpuset.Set
	memory map[topology.NodeID]uint64 // in bytes
}

// readMachine returns the machine's topology, and the CPUs and memory that are reserved on it. It
// returns an error if the kubelet's CPU manager pins containers itself.
func readMachine(cfg config.Agent, log logr.Logger) (*topology.Machine, reservation, error) {
	none := reservation{}
	machine, err := sysfs.Discover(os.DirFS(cfg.SysfsRoot))
	if err != nil {
		return nil, none, err
	}
	kubeletConfig, err := kubelet.ReadConfig(cfg.KubeletConfig, cfg.KubeletConfigDir)
	if err != nil {
		return nil, none, err
	}
	if err := kubelet.CheckCPUManager(kubeletConfig, cfg.KubeletDir); err != nil {
		return nil, none, err
	}
	cpus, from, err := kubelet.Reserved(cfg.ReservedCPUs, kubeletConfig, machine)
	if err != nil {
		return nil, none, err
	}
	log.Info("machine", "online", machine.Online().String(), "numaNodes", len(machine.Nodes), "reserved", cpus.String(), "from", from)
	memory := kubelet.ReservedMemory(kubeletConfig, machine)
	log.Info("memory that containers cannot bind", "kubelet", memory, "kernel", kernelReserved(machine))
	return machine, reservation{cpus, memory}, nil
}

// kernelReserved returns how many bytes of each NUMA node's memory the kernel keeps for itself. The
// agent only logs these numbers.
func kernelReserved(machine *topology.Machine) map[topology.NodeID]uint64 {
	bytes := map[topology.NodeID]uint64{}
	for _, numaNode := range machine.Nodes {
		bytes[numaNode.ID] = numaNode.KernelReserved
	}
	return bytes
}

// newNode sets a.node, with the grants that the checkpoint file lists. A grant is the exclusive
// CPUs of a pod. If the file is missing or damaged, a.node rebuilds the grants from the running
// containers. If this release cannot read the file's format version, newNode returns an error and
// leaves the file as it is. If the agent rebuilt the grants in this case, too, it would overwrite
// the file, and the grants of pods whose containers are just restarting would be lost.
func (a *agent) newNode(machine *topology.Machine, reserved reservation, measured *metrics.Metrics) error {
	bootID, err := checkpoint.BootID(os.DirFS(a.cfg.SysfsRoot))
	if err != nil {
		return err
	}
	file := checkpoint.File[node.Snapshot]{Path: a.cfg.Checkpoint}
	snapshot, err := file.Load()
	if errors.Is(err, checkpoint.ErrVersion) {
		return err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.log.Error(err, "cannot load the checkpoint; rebuilding the grants from the running containers")
	}
	form := v1alpha1.PolicyForm
	if a.cfg.RequestForm == config.ExplicitForm {
		form = v1alpha1.ExplicitForm
	}
	cfg := node.Config{
		RequestForm: form, Controller: a.cfg.Controller, Disabled: !a.cfg.ExclusiveCPUs, Reserved: reserved.cpus, ReservedMemory: reserved.memory,
		FullCores: a.cfg.FullCores, BootID: bootID,
		GPUExemptNamespaces: a.cfg.GPUExemptNamespaces,
	}
	if err := a.newIsolation(bootID); err != nil {
		return err
	}
	a.node, err = node.New(machine, cfg, node.Dependencies{
		Pods: a.pods, Cgroups: a.cgroups, Processes: a.cgroups, Store: file,
		Events: warner{a.events, a.pods}, Rejecter: a.cluster, Observer: notifyingMetrics{measured, a.cluster}, Isolator: isolator{a.isolation, a.cgroups}, HasGPUs: a.gpus.any, GroupOf: a.groupOf,
		GPUsFreed: func() { a.holders.notify() }, Now: time.Now,
	}, snapshot)
	if a.node == nil {
		return err
	}
	if err != nil {
		a.log.Error(err, "cannot restore some grants of the checkpoint")
	}
	for _, w := range a.node.Warnings() {
		a.log.Info("kept a grant because a container runs on its CPUs", "warning", w)
	}
	return nil
}

// warner writes events on pods. Its callers identify a pod by the UID that the container runtime
// uses. warner looks up the object reference of this pod, which an event needs.
type warner struct {
	events *nodeapi.Events
	pods   *nodeapi.Pods
}

func (w warner) Warn(pod workload.Pod, reason, message string) {
	w.events.Warn(w.pods.ObjectRef(nodeapi.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}), reason, message)
}

func (w warner) Note(pod workload.Pod, reason, message string) {
	w.events.Note(w.pods.ObjectRef(nodeapi.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}), reason, message)
}

func (a *agent) checks() []telemetry.Check {
	return []telemetry.Check{
		{Name: "container runtime", Ready: a.runtime.Ready},
		{Name: "systemd", Ready: a.cgroups.Ready},
		{Name: "pods of this node", Ready: func() error {
			if !a.pods.HasSynced() {
				return fmt.Errorf("the API server has not listed the pods of this node yet")
			}
			return nil
		}},
		{Name: "admission policies", Ready: a.confinement.Ready},
	}
}

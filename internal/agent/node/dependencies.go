package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// Pods is the pod informer's cache of this node's pods. It looks up pods by the UID that the
// container runtime uses. For the UID of a static pod it returns the mirror pod.
type Pods interface {
	Pod(workload.Pod) (*corev1.Pod, bool)
	// Wait is like the method Pod, but if the pod is not in the cache, Wait waits for it until ctx
	// ends.
	Wait(context.Context, workload.Pod) (*corev1.Pod, bool)
	HasSynced() bool
}

// Cgroups writes to cgroups that the container runtime or the kubelet has created. For a missing
// cgroup, Confine, Effective, Configured and LiftQuota return fs.ErrNotExist.
type Cgroups interface {
	// Confine sets the CPUs of the cgroup of a container, a pause process or a QoS class. It also
	// sets the NUMA nodes of the cgroup's memory if d has any, and makes the cgroup a cpuset
	// partition if d has one. If d.Exclusive is false, Confine may set fewer CPUs than d has. The
	// error wraps workload.ErrPartition if Confine did everything except make the partition.
	Confine(ctx context.Context, cgroup string, d workload.Decision) error
	// Effective returns the CPUs, and the NUMA nodes of memory, that a cgroup can really use.
	Effective(cgroup string) (cpuset.Set, []topology.NodeID, error)
	// Configured returns the CPUs that are set for a cgroup itself, even if the cgroups above it
	// lack some of them. The result is empty if none are set.
	Configured(cgroup string) (cpuset.Set, error)
	// QoSCgroups returns the cgroups of the QoS classes Burstable and BestEffort, if setting the
	// CPUs of such a cgroup limits all cgroups below it. Otherwise it returns none.
	QoSCgroups() []string
	// QoSCgroup returns the cgroup in the result of QoSCgroups that contains the cgroup of a pod, or "".
	QoSCgroup(podCgroup string) string
	// Limits reports whether the cgroup of a QoS class has no other CPUs than the given ones, even
	// after systemd has written the settings of all cgroups again. It returns false for the cgroup
	// "".
	Limits(class string, to cpuset.Set) bool
	// LiftQuota removes the CFS quota of the cgroup of a pod or a container.
	LiftQuota(ctx context.Context, cgroup string) error
	// Persist sends systemd what Confine and LiftQuota have written. A daemon-reload of systemd
	// reverts every cgroup setting that systemd does not know. So no exclusive container may be
	// created before Persist has returned nil.
	Persist(ctx context.Context) error
	// PersistLater requests a call of Persist, and does not wait for it.
	PersistLater()
}

// Processes tells whether a pod has ended. PodEmpty reports whether the pod's cgroup has no
// processes, and PodExists reports whether the cgroup still exists.
type Processes interface {
	PodEmpty(podCgroup string) (bool, error)
	PodExists(podCgroup string) (bool, error)
}

// Store saves the checkpoint file. Save returns when the snapshot is durable on the disk.
type Store interface{ Save(Snapshot) error }

// Events writes events on pods. Warn writes events of type Warning, and Note writes events of type
// Normal. Neither blocks.
type Events interface {
	Warn(pod workload.Pod, reason, message string)
	Note(pod workload.Pod, reason, message string)
}

// Rejecter sets a pod's phase to Failed. The agent calls it if this node cannot give the pod the
// CPUs and GPUs that numalet-controller chose and wrote into the annotation numalet.dev/placement.
// Kubernetes cannot move a pod to another node, so the owner of the pod must create a new pod.
// Reject does not block.
type Rejecter interface {
	Reject(pod workload.Pod, reason, message string)
}

// Isolator keeps interrupts and unbound workqueues off CPUs.
type Isolator interface {
	// Check returns nil if this node can isolate CPUs, and otherwise the reason why it cannot.
	Check() error
	// Partitions reports whether the kernel can make the cgroups of containers cpuset partitions.
	Partitions() bool
	// Isolate keeps interrupts and unbound workqueues off the given CPUs. It lets them use all
	// other CPUs, even CPUs that an earlier call isolated. It also ends the partitions of
	// containers that have ended.
	Isolate(ctx context.Context, cpus cpuset.Set) error
}

// Observer records metrics. Its methods do not block.
type Observer interface {
	Refused(v1alpha1.Reason)
	Saved(took time.Duration)
	Wrote(why Why, cgroups int, took time.Duration)
}

// Why is the reason for which the agent writes the cpusets of cgroups.
type Why string

// Shrink means that shared CPUs become exclusive. Grow means that released CPUs become shared
// again. Assert means any other write: the agent writes the cpuset of one container or sandbox, or
// writes all cpusets again.
const (
	Shrink Why = "shrink"
	Grow   Why = "grow"
	Assert Why = "assert"
)

// Dependencies are the interfaces and functions that a Node calls.
type Dependencies struct {
	Pods      Pods
	Cgroups   Cgroups
	Processes Processes
	Store     Store
	Events    Events
	Rejecter  Rejecter
	Observer  Observer
	Isolator  Isolator
	// HasGPUs reports whether Numalet assigns GPUs to containers on this node. A nil HasGPUs means
	// that Numalet assigns none.
	HasGPUs func() bool
	// GroupOf returns the GPU group for which the GPU, MIG slice or share of a GPU with this ID is
	// reserved. It returns "" if no group reserves it. The result `known` is false until the agent
	// has read the GPU groups. A nil GroupOf means that there are no GPU groups.
	GroupOf func(id string) (group string, known bool)
	// GPUsFreed is called when a pod is no longer in the result of Node.GPUHolders. It must not
	// block, and must not call methods of the Node. It may be nil.
	GPUsFreed func()
	Now       func() time.Time
}

// Config is the configuration of a Node.
type Config struct {
	RequestForm v1alpha1.Form // without numalet-controller, the agent serves only requests in this form
	// Controller means that numalet-controller places pods on this node. The agent then applies
	// the placements of the controller, and serves requests in all forms.
	Controller bool
	Disabled   bool       // pods that request exclusive CPUs are refused
	Reserved   cpuset.Set // CPUs that are never exclusive
	// ReservedMemory is how many bytes of the memory of each NUMA node are kept for the system, so
	// that containers cannot bind them.
	ReservedMemory map[topology.NodeID]uint64
	FullCores      bool          // no two pods get exclusive CPUs of the same core
	BootID         string        // the kernel's ID of this boot
	PodWait        time.Duration // how long to wait until the pod informer has a pod; 0 means 1 s
	// GPUExemptNamespaces are the namespaces whose containers are allowed to name GPUs in the
	// environment variable NVIDIA_VISIBLE_DEVICES. Such a container sees these GPUs even if the
	// kubelet allocated no GPUs to it.
	GPUExemptNamespaces []string
}

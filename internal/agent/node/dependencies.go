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

// Pods is the informer's cache of this node's pods. It looks up pods by the UID that the runtime
// uses. For a static pod it returns the mirror pod.
type Pods interface {
	Pod(workload.Pod) (*corev1.Pod, bool)
	// Wait returns the pod like Pod. If the pod is not in the cache, it waits for the pod until ctx
	// ends.
	Wait(context.Context, workload.Pod) (*corev1.Pod, bool)
	HasSynced() bool
}

// Cgroups writes to cgroups that the runtime or the kubelet has created. The error for a
// missing cgroup is fs.ErrNotExist.
type Cgroups interface {
	// Confine sets the CPUs of a container or pause process, and its memory nodes if d has any. A
	// container that is not exclusive may get fewer CPUs than d has.
	Confine(ctx context.Context, cgroup string, d workload.Decision) error
	// LiftQuota removes the CFS quota of a pod's cgroup.
	LiftQuota(ctx context.Context, podCgroup string) error
	// Persist makes the writes of Confine and LiftQuota survive a daemon-reload of systemd, which
	// reverts every cgroup whose settings systemd does not know. No exclusive container may be
	// created before Persist has returned nil.
	Persist(ctx context.Context) error
}

// Processes reports whether a pod's cgroup has no processes, and whether the cgroup still exists.
type Processes interface {
	PodEmpty(podCgroup string) (bool, error)
	PodExists(podCgroup string) (bool, error)
}

// Store saves the checkpoint. Save returns when the snapshot is durable on the disk.
type Store interface{ Save(Snapshot) error }

// Events writes events on pods. Warn writes events of type Warning, and Note writes events of type
// Normal. Neither blocks.
type Events interface {
	Warn(pod workload.Pod, reason, message string)
	Note(pod workload.Pod, reason, message string)
}

// Rejecter sets a pod to failed if this node cannot apply the pod's placement. The node of a pod
// cannot change, so only a new pod can be placed elsewhere. Reject does not block.
type Rejecter interface {
	Reject(pod workload.Pod, reason, message string)
}

// Isolator keeps interrupts and unbound workqueues off CPUs.
type Isolator interface {
	// Check returns nil if this node can isolate CPUs, and otherwise the reason.
	Check() error
	// Isolate keeps interrupts and unbound workqueues off these CPUs, and no longer off other CPUs
	// of earlier calls.
	Isolate(ctx context.Context, cpus cpuset.Set) error
}

// Observer records metrics. Its methods do not block.
type Observer interface {
	Refused(v1alpha1.Reason)
	Saved(took time.Duration)
	Wrote(why Why, cgroups int, took time.Duration)
}

// Why is the reason why the node writes cpusets of cgroups.
type Why string

// Shrink means that CPUs leave the shared set, and Grow that released CPUs return to it. Assert
// means that cpusets are written again without a change.
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
	// HasGPUs reports whether Numalet assigns GPUs to containers on this node. nil means that it
	// does not.
	HasGPUs func() bool
	// GroupOf returns the GPU group for which a GPU, MIG slice or share is reserved, or "" if there
	// is none. known is false while the groups have not been read yet. A nil GroupOf means that
	// there are no GPU groups.
	GroupOf func(id string) (group string, known bool)
	// GPUsFreed is called when a pod is no longer in the result of GPUHolders. It must not block or
	// call the node. It may be nil.
	GPUsFreed func()
	Now       func() time.Time
}

// Config is the configuration of a Node.
type Config struct {
	RequestForm v1alpha1.Form // without a controller, only requests in this form are served
	// Controller means that numalet-controller places pods on this node. Its placements are
	// applied, and requests in both forms are served.
	Controller bool
	Disabled   bool       // pods that request exclusive CPUs are refused
	Reserved   cpuset.Set // CPUs that are never exclusive
	// ReservedMemory is how many bytes of each NUMA node no container may bind.
	ReservedMemory map[topology.NodeID]uint64
	FullCores      bool          // pods get whole cores, so that no two pods share a core
	BootID         string        // the kernel's ID of this boot
	PodWait        time.Duration // how long to wait until the informer has a pod; 0 means 1 s
	// GPUExemptNamespaces are the namespaces whose containers see the GPUs that they name in
	// NVIDIA_VISIBLE_DEVICES, even if the kubelet allocated no GPUs to them.
	GPUExemptNamespaces []string
}

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

// Pods is the informer's cache of this node's pods, by the UID that the runtime uses
// (for a static pod it returns the mirror pod).
type Pods interface {
	Pod(workload.Pod) (*corev1.Pod, bool)
	// Wait is Pod, but waits for an unknown pod until ctx ends.
	Wait(context.Context, workload.Pod) (*corev1.Pod, bool)
	HasSynced() bool
}

// Cgroups writes cgroups that the runtime or the kubelet has created. The error for a
// missing cgroup is fs.ErrNotExist.
type Cgroups interface {
	// Confine sets the CPUs of a container or pause process, and its memory nodes
	// unless there are none. A container that is not exclusive may get fewer CPUs.
	Confine(ctx context.Context, cgroup string, d workload.Decision) error
	// LiftQuota removes the CFS quota of a pod's cgroup.
	LiftQuota(ctx context.Context, podCgroup string) error
	// Persist makes the other writes survive a daemon-reload of systemd, which
	// reverts every cgroup that systemd has no properties for. No exclusive
	// container may be created before it has returned nil.
	Persist(ctx context.Context) error
}

// Processes reports whether a pod has no processes, and whether the kubelet has not removed
// its cgroup yet.
type Processes interface {
	PodEmpty(podCgroup string) (bool, error)
	PodExists(podCgroup string) (bool, error)
}

// Store makes a snapshot durable before it returns.
type Store interface{ Save(Snapshot) error }

// Events writes events on pods: Warn those of type Warning, Note those of type Normal.
// Neither blocks.
type Events interface {
	Warn(pod workload.Pod, reason, message string)
	Note(pod workload.Pod, reason, message string)
}

// Rejecter fails a pod whose placement this node cannot apply: its nodeName cannot
// change, so only a new pod helps. Reject does not block.
type Rejecter interface {
	Reject(pod workload.Pod, reason, message string)
}

// Isolator keeps interrupts and unbound workqueues off CPUs.
type Isolator interface {
	// Check returns why this node cannot isolate CPUs, or nil.
	Check() error
	// Isolate keeps interrupts and unbound workqueues off these CPUs and no others.
	Isolate(ctx context.Context, cpus cpuset.Set) error
}

// Observer records metrics. Its methods do not block.
type Observer interface {
	Refused(v1alpha1.Reason)
	Saved(took time.Duration)
	Wrote(why Why, cgroups int, took time.Duration)
}

// Why is the cause of writes to cgroups.
type Why string

// Shrink removes CPUs from the shared set, Grow adds released ones, Assert writes the
// current state again.
const (
	Shrink Why = "shrink"
	Grow   Why = "grow"
	Assert Why = "assert"
)

// Dependencies of a Node.
type Dependencies struct {
	Pods      Pods
	Cgroups   Cgroups
	Processes Processes
	Store     Store
	Events    Events
	Rejecter  Rejecter
	Observer  Observer
	Isolator  Isolator
	// HasGPUs reports whether GPUs are handed out on this node; nil means that none are.
	HasGPUs func() bool
	// GroupOf returns the GPU group that keeps others from a GPU, slice or share, or "",
	// and whether the groups are known. nil means that there are no groups.
	GroupOf func(id string) (group string, known bool)
	// GPUsFreed is called when GPUHolders has a pod no longer. It must not block or call the node.
	// nil means that nobody needs to know.
	GPUsFreed func()
	Now       func() time.Time
}

// Config is the configuration of a Node.
type Config struct {
	RequestForm v1alpha1.Form // the only form of requests that is served without a controller
	// Controller means that a cluster controller places pods on this node: its
	// placements are applied, and both forms of requests are served.
	Controller bool
	Disabled   bool       // pods that request exclusive CPUs are refused
	Reserved   cpuset.Set // never exclusive
	// ReservedMemory is how many bytes of each NUMA node no container may bind.
	ReservedMemory map[topology.NodeID]uint64
	FullCores      bool          // no two pods share a core
	BootID         string        // of this boot
	PodWait        time.Duration // how long to wait for an unknown pod; 0 means 1 s
	// GPUExemptNamespaces are the namespaces whose containers see the GPUs that they
	// name although none were allocated to them.
	GPUExemptNamespaces []string
}

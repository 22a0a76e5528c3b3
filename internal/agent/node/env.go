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

// Pods is what the API server said about this node's pods, by the UID that the
// runtime uses (of a static pod: its mirror pod).
type Pods interface {
	Pod(uid string) (*corev1.Pod, bool)
	// Wait is Pod, but gives an unknown pod until ctx ends to appear.
	Wait(ctx context.Context, uid string) (*corev1.Pod, bool)
	HasSynced() bool
}

// Cgroups writes to cgroups that the runtime or the kubelet made. An error is
// fs.ErrNotExist when there is no such cgroup (any more).
type Cgroups interface {
	// Confine puts a container or pause process on cpus, and its memory on
	// mems unless that is nil.
	Confine(ctx context.Context, cgroup string, cpus cpuset.Set, mems []topology.NodeID) error
	// LiftQuota takes the CFS quota off a pod's own cgroup.
	LiftQuota(ctx context.Context, podCgroup string) error
	// Persist makes the other writes survive a daemon-reload of systemd, which
	// reverts every cgroup that systemd has no properties for. No exclusive
	// container may start before it has returned nil.
	Persist(ctx context.Context) error
}

// Processes tells whether a pod still has any.
type Processes interface {
	PodEmpty(podCgroup string) (bool, error)
}

// Store makes a snapshot durable before it returns.
type Store interface{ Save(Snapshot) error }

// Events tells a pod's author what went wrong. Warn returns at once.
type Events interface {
	Warn(pod workload.Pod, reason, message string)
}

// Rejecter ends a pod whose placement this node cannot honour: its nodeName
// cannot change, so nothing else helps. Reject returns at once.
type Rejecter interface {
	Reject(pod workload.Pod, reason, message string)
}

// Observer is told what the node did; its methods return at once.
type Observer interface {
	Refused(v1alpha1.Reason)
	Saved(took time.Duration)
	Wrote(why Why, cgroups int, took time.Duration)
}

// Why cgroups were written.
type Why string

// Shrink takes CPUs from those who share, Grow gives back what was released,
// Assert writes again what ought to be there.
const (
	Shrink Why = "shrink"
	Grow   Why = "grow"
	Assert Why = "assert"
)

// Env is the world outside, as the node sees it.
type Env struct {
	Pods      Pods
	Cgroups   Cgroups
	Processes Processes
	Store     Store
	Events    Events
	Rejecter  Rejecter
	Observer  Observer
	Now       func() time.Time
}

// Config is what the administrator decided.
type Config struct {
	RequestForm v1alpha1.Form // the form of CPU requests that this node serves without a controller
	// Controller says that a cluster controller counts this node's CPUs: its
	// placements are honoured, and both forms of asking are served.
	Controller bool
	Disabled   bool          // the off-switch: pods that ask are refused
	Reserved   cpuset.Set    // never exclusive
	FullCores  bool          // no two pods share a core
	BootID     string        // of this boot
	PodWait    time.Duration // how long an unknown pod may take to appear; 0 means 1 s
}

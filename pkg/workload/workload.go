// Package workload has types for pods, sandboxes and containers on a node, and for the CPUs of a
// container.
//
// The adapter of the container runtime (internal/agent/nri) and the agent's logic
// (internal/agent/node) both use these types. The types do not depend on a particular container
// runtime.
package workload

import (
	"errors"
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Pod identifies a pod.
type Pod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns "namespace/name".
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Sandbox is one sandbox of a pod, as reported by the container runtime. Annotations are the pod's
// annotations at the time when the sandbox was created. They do not change afterwards, even if the
// pod's annotations change.
type Sandbox struct {
	ID          string
	Pod         Pod
	Annotations map[string]string
	PodCgroup   string // cgroup of the whole pod
	Cgroup      string // cgroup of the pause process, in the form of cgroupsPath in the OCI spec; "" if there is none
}

// Container is one container, as reported by the runtime.
type Container struct {
	ID          string
	Name        string
	Sandbox     Sandbox
	Annotations map[string]string // the container's annotations, with those that the device plugin returned from Allocate
	Env         []string          // NAME=value; if a name occurs several times, the last one counts
	Cgroup      string            // in the form of cgroupsPath in the OCI spec
	Resources   Resources         // from its OCI spec, or from an update of the container
}

// String returns "namespace/pod/container".
func (c Container) String() string { return c.Sandbox.Pod.String() + "/" + c.Name }

// Resources are the CPU and memory settings of a container's cgroup. A zero value means not set.
type Resources struct {
	CPUs         cpuset.Set
	Mems         []topology.NodeID
	Shares       uint64 // 1024 for each requested CPU
	QuotaMicros  int64  // CPU time per period; -1 is no limit
	PeriodMicros uint64
	MemoryBytes  int64
}

// WholeCPUs returns the number of CPUs of a container whose limit is a whole number of CPUs and
// equals its request. It returns false for any other container. The request is known only from the
// shares, and the kubelet writes at most the shares for 256 CPUs (maxShares). So if the limit is
// more than 256 CPUs, any request of at least 256 CPUs counts as equal to the limit. WholeCPUs is
// the inverse of the kubelet's computation of shares and quota (pkg/kubelet/cm/helpers_linux.go,
// MilliCPUToShares and MilliCPUToQuota).
func (r Resources) WholeCPUs() (int, bool) {
	if r.QuotaMicros <= 0 || r.PeriodMicros == 0 || r.QuotaMicros%int64(r.PeriodMicros) != 0 {
		return 0, false
	}
	n := r.QuotaMicros / int64(r.PeriodMicros)
	return int(n), r.Shares == sharesOf(n)
}

// maxShares is the largest value of Shares that the kubelet writes. It means 256 CPUs or more.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/helpers_linux.go,
// MaxShares.
const maxShares = 262144

// sharesOf returns the shares that the kubelet writes for a request of n CPUs.
func sharesOf(n int64) uint64 { return min(uint64(n)*1024, maxShares) }

// ExclusiveCPUs returns the number of CPUs of a container with exclusive CPUs. Before the container
// gets its exclusive CPUs, it has a CPU quota, from which ExclusiveCPUs reads the number. When the
// container gets them, the quota is removed. From then on, ExclusiveCPUs reads the number from the
// CPU shares. It returns 0 if neither the quota nor the shares tell the number. An error means that
// the number is not whole, or that the CPU limit and the CPU request differ.
func (r Resources) ExclusiveCPUs() (int, error) {
	switch {
	case r.QuotaMicros > 0 && r.PeriodMicros > 0:
		n := r.QuotaMicros / int64(r.PeriodMicros)
		if n == 0 || r.QuotaMicros%int64(r.PeriodMicros) != 0 {
			return 0, fmt.Errorf("the limit is %d ms of CPU time in %d ms", r.QuotaMicros/1000, r.PeriodMicros/1000)
		}
		if r.Shares != 0 && r.Shares != sharesOf(n) {
			return 0, fmt.Errorf("the request has %d shares and the limit is %d CPUs", r.Shares, n)
		}
		return int(n), nil
	case r.Shares == 0 || r.Shares == maxShares:
		return 0, nil
	case r.Shares%1024 != 0:
		return 0, fmt.Errorf("the request has %d shares, and a CPU has 1024", r.Shares)
	}
	return int(r.Shares / 1024), nil
}

// Pinned reports whether these are the resources of a container that already has exclusive CPUs.
// Only such a container has a set of CPUs and the quota -1 (no limit).
func (r Resources) Pinned() bool { return r.QuotaMicros < 0 && !r.CPUs.Empty() }

// Decision is the CPUs and memory nodes (cpuset.cpus and cpuset.mems) that a container gets.
type Decision struct {
	CPUs      cpuset.Set        // empty only in an Answer, where this means that the runtime must not set any CPUs
	Mems      []topology.NodeID // nil means that cpuset.mems is not changed
	Exclusive bool              // whether the CPUs are exclusive; if they are, the CFS quota is removed
	Partition Partition         // which partition the container's cgroup becomes; only for exclusive CPUs
}

// Partition is a type of cpuset partition, in the words of the kernel's file cpuset.cpus.partition.
// Only the processes of the partition's cgroup run on the CPUs of the partition.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset.
type Partition string

const (
	NoPartition       Partition = ""
	IsolatedPartition Partition = "isolated" // the kernel does not balance threads over the CPUs
	RootPartition     Partition = "root"     // the kernel balances threads over the CPUs, separately from other CPUs
)

// ErrPartition means that the kernel did not make a container's cgroup a partition.
var ErrPartition = errors.New("the kernel makes no partition")

// String returns "exclusive 0-3 mems [0]", "exclusive 0-3 isolated", "shared 4-15", or "shared" for
// a decision without CPUs.
func (d Decision) String() string {
	if d.CPUs.Empty() {
		return "shared"
	}
	if !d.Exclusive {
		return fmt.Sprintf("shared %s", d.CPUs)
	}
	text := fmt.Sprintf("exclusive %s", d.CPUs)
	if d.Mems != nil {
		text += fmt.Sprintf(" mems %v", d.Mems)
	}
	if d.Partition != NoPartition {
		text += " " + string(d.Partition)
	}
	return text
}

// Answer is the agent's answer when the runtime creates or updates a container. If its Decision has
// no CPUs, the runtime must not set any: the cgroup of the pod's QoS class limits the container.
type Answer struct {
	Decision
	// Specs are updates of the OCI specs of other containers that are created but not started. Some
	// of the CPUs in these specs may have become exclusive since the containers were created.
	// Without the updates, a container would start on such CPUs if the agent is not running at that
	// time.
	Specs []Spec
	// GPUs is the value of the environment variable that lists the container's GPUs. "" means that
	// the variable is not changed.
	GPUs string
}

// Spec is an update of the OCI spec of a container without exclusive CPUs.
type Spec struct {
	ContainerID string
	CPUs        cpuset.Set
}

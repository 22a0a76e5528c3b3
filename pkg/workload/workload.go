// Package workload has the types of what runs on a node: pods, sandboxes, containers,
// and the CPUs of a container.
//
// They are shared by the adapters of runtimes (internal/agent/nri) and the node
// (internal/agent/node), and independent of the types of any runtime.
package workload

import (
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

// Sandbox is one sandbox of a pod, as reported by the runtime. Its annotations are
// those of the pod when the sandbox was created, and cannot change afterwards.
type Sandbox struct {
	ID          string
	Pod         Pod
	Annotations map[string]string
	PodCgroup   string // of the whole pod
	Cgroup      string // of the pause process, in the runtime's form; "" when there is none
}

// Container is one container, as reported by the runtime.
type Container struct {
	ID          string
	Name        string
	Sandbox     Sandbox
	Annotations map[string]string // including those of the device plugin's Allocate
	Env         []string          // NAME=value; the last of several with the same name counts
	Cgroup      string            // in the runtime's form
	Resources   Resources         // of its OCI spec, or of an update
}

// String returns "namespace/pod/container".
func (c Container) String() string { return c.Sandbox.Pod.String() + "/" + c.Name }

// Resources are CPU and memory of a container in cgroup terms; 0 means not set.
type Resources struct {
	CPUs         cpuset.Set
	Mems         []topology.NodeID
	Shares       uint64 // 1024 per CPU requested
	QuotaMicros  int64  // CPU time per period; -1 is no limit
	PeriodMicros uint64
	MemoryBytes  int64
}

// WholeCPUs returns the CPU count of a container whose limit is a whole number
// of CPUs and equals its request, as the kubelet writes them into cgroup terms
// (pkg/kubelet/cm/helpers_linux.go, MilliCPUToShares and MilliCPUToQuota).
func (r Resources) WholeCPUs() (int, bool) {
	if r.QuotaMicros <= 0 || r.PeriodMicros == 0 || r.QuotaMicros%int64(r.PeriodMicros) != 0 {
		return 0, false
	}
	n := r.QuotaMicros / int64(r.PeriodMicros)
	return int(n), r.Shares == uint64(n)*1024
}

// maxShares is the kubelet's maximum of Shares, which stands for 256 CPUs and more.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/helpers_linux.go, MaxShares.
const maxShares = 262144

// ExclusiveCPUs returns how many CPUs an exclusive container has by its resources: the
// quota counts, and where there is none, because the container is pinned, the shares. The result is
// 0 if the resources have neither. An error means that it is no whole number, or that limit and
// request differ.
func (r Resources) ExclusiveCPUs() (int, error) {
	switch {
	case r.QuotaMicros > 0 && r.PeriodMicros > 0:
		n := r.QuotaMicros / int64(r.PeriodMicros)
		if n == 0 || r.QuotaMicros%int64(r.PeriodMicros) != 0 {
			return 0, fmt.Errorf("the limit is %d ms of CPU time in %d ms", r.QuotaMicros/1000, r.PeriodMicros/1000)
		}
		if r.Shares != 0 && r.Shares != min(uint64(n)*1024, maxShares) {
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

// Pinned reports whether these are the resources of an exclusive container: only
// those have CPUs and no CPU quota.
func (r Resources) Pinned() bool { return r.QuotaMicros < 0 && !r.CPUs.Empty() }

// Decision is the CPUs and memory nodes of a container.
type Decision struct {
	CPUs      cpuset.Set        // never empty
	Mems      []topology.NodeID // nil leaves memory alone
	Exclusive bool              // its CFS quota is removed
}

// String returns "exclusive 0-3 mems [0]" or "shared 4-15".
func (d Decision) String() string {
	switch {
	case !d.Exclusive:
		return fmt.Sprintf("shared %s", d.CPUs)
	case d.Mems == nil:
		return fmt.Sprintf("exclusive %s", d.CPUs)
	}
	return fmt.Sprintf("exclusive %s mems %v", d.CPUs, d.Mems)
}

// Answer is the answer to the creation of a container.
type Answer struct {
	Decision
	// Specs are updates of the specs of other containers that were created but have
	// not started. Without them such a container would start on CPUs that became
	// exclusive meanwhile, if the agent does not run at that moment.
	Specs []Spec
	// GPUs is the value of the environment variable with the container's GPUs; ""
	// leaves it unchanged.
	GPUs string
}

// Spec is an update of the spec of a shared container.
type Spec struct {
	ContainerID string
	CPUs        cpuset.Set
}

package nri

import (
	"strings"

	"github.com/containerd/nri/pkg/api"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// These are labels that the kubelet sets on every container.
// Source: k8s.io/kubelet/pkg/types/labels.go.
const (
	labelPodName      = "io.kubernetes.pod.name"
	labelPodNamespace = "io.kubernetes.pod.namespace"
	labelPodUID       = "io.kubernetes.pod.uid"
)

func asSandbox(p *api.PodSandbox) workload.Sandbox {
	return workload.Sandbox{
		ID:          p.GetId(),
		Pod:         workload.Pod{UID: p.GetUid(), Namespace: p.GetNamespace(), Name: p.GetName()},
		Annotations: p.GetAnnotations(),
		PodCgroup:   p.GetLinux().GetCgroupParent(),
		Cgroup:      p.GetLinux().GetCgroupsPath(),
	}
}

// asContainer converts a container of a sandbox from NRI's type to the type that package node uses.
// If the container runtime no longer has the sandbox, `pod` may be nil or incomplete. In this case,
// asContainer takes the pod's name, namespace and UID from the container's labels, and the parent
// of the container's cgroup as the pod's cgroup.
func asContainer(pod *api.PodSandbox, container *api.Container) workload.Container {
	s := asSandbox(pod)
	if s.Pod.UID == "" {
		l := container.GetLabels()
		s.ID = container.GetPodSandboxId()
		s.Pod = workload.Pod{UID: l[labelPodUID], Namespace: l[labelPodNamespace], Name: l[labelPodName]}
		s.PodCgroup = cgroupAbove(container.GetLinux().GetCgroupsPath())
	}
	return workload.Container{
		ID:          container.GetId(),
		Name:        container.GetName(),
		Sandbox:     s,
		Annotations: container.GetAnnotations(),
		Env:         container.GetEnv(),
		Cgroup:      container.GetLinux().GetCgroupsPath(),
		Resources:   asResources(container.GetLinux().GetResources()),
	}
}

// cgroupAbove returns the parent of a container's cgroup: "/kubepods/pod1" for "/kubepods/pod1/c1",
// and "kubepods-pod1.slice" for "kubepods-pod1.slice:cri-containerd:c1". If the name of the cgroup
// has neither form, it returns "".
func cgroupAbove(cgroup string) string {
	if slice, _, ok := strings.Cut(cgroup, ":"); ok {
		return slice
	}
	return strings.TrimRight(cgroup[:strings.LastIndex(cgroup, "/")+1], "/")
}

func asResources(r *api.LinuxResources) workload.Resources {
	cpu := r.GetCpu()
	out := workload.Resources{
		CPUs:         asSet(cpu.GetCpus()),
		Shares:       cpu.GetShares().GetValue(),
		QuotaMicros:  cpu.GetQuota().GetValue(),
		PeriodMicros: cpu.GetPeriod().GetValue(),
		MemoryBytes:  r.GetMemory().GetLimit().GetValue(),
	}
	for m := range asSet(cpu.GetMems()).All() {
		out.Mems = append(out.Mems, topology.NodeID(m))
	}
	return out
}

// asSet parses a list of CPUs, or of NUMA nodes, in a container's spec. For a list that it cannot
// parse, it returns the empty set. Such a list has no effect, because the kernel cannot parse it
// either.
func asSet(list string) cpuset.Set {
	s, err := cpuset.Parse(list)
	if err != nil {
		return cpuset.Set{}
	}
	return s
}

// asList returns NUMA nodes in the kernel's list format, such as "0-1,3".
func asList(nodes []topology.NodeID) string {
	var ids []cpuset.CPU
	for _, node := range nodes {
		ids = append(ids, cpuset.CPU(node))
	}
	return cpuset.Of(ids...).String()
}

// noQuota is the CPU quota that means no limit, in NRI and in the OCI runtime spec.
const noQuota = -1

// cpuSetter has the methods that NRI's adjustment of a new container and NRI's update of an
// existing container have in common.
type cpuSetter interface {
	SetLinuxCPUSetCPUs(string)
	SetLinuxCPUSetMems(string)
	SetLinuxCPUQuota(int64)
}

// set writes a decision into an adjustment or an update of a container. It sets no CPUs if the
// decision has none: the cgroup of a QoS class then limits the container.
func set(to cpuSetter, decision workload.Decision) {
	if !decision.CPUs.Empty() {
		to.SetLinuxCPUSetCPUs(decision.CPUs.String())
	}
	if len(decision.Mems) > 0 {
		to.SetLinuxCPUSetMems(asList(decision.Mems))
	}
	if decision.Exclusive {
		to.SetLinuxCPUQuota(noQuota)
	}
}

package nri

import (
	"strings"

	"github.com/containerd/nri/pkg/api"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// Labels that the kubelet gives every container.
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

// asContainer translates a container of pod, which may be nil or nearly empty
// when the runtime forgot the sandbox: then the container's labels name the
// pod, and its cgroup lies in the pod's.
func asContainer(pod *api.PodSandbox, c *api.Container) workload.Container {
	s := asSandbox(pod)
	if s.Pod.UID == "" {
		l := c.GetLabels()
		s.ID = c.GetPodSandboxId()
		s.Pod = workload.Pod{UID: l[labelPodUID], Namespace: l[labelPodNamespace], Name: l[labelPodName]}
		s.PodCgroup = cgroupAbove(c.GetLinux().GetCgroupsPath())
	}
	return workload.Container{
		ID:          c.GetId(),
		Name:        c.GetName(),
		Sandbox:     s,
		Annotations: c.GetAnnotations(),
		Env:         c.GetEnv(),
		Cgroup:      c.GetLinux().GetCgroupsPath(),
		Resources:   asResources(c.GetLinux().GetResources()),
	}
}

// cgroupAbove returns the cgroup that holds a container's: of
// "/kubepods/pod1/c1" the directory, of "kubepods-pod1.slice:cri-containerd:c1"
// the slice; "" of none.
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

// asSet reads a list of a container's spec. What the kernel could not read
// either counts as not set.
func asSet(list string) cpuset.Set {
	s, err := cpuset.Parse(list)
	if err != nil {
		return cpuset.Set{}
	}
	return s
}

// asList is the list format of memory nodes.
func asList(nodes []topology.NodeID) string {
	var ids []cpuset.CPU
	for _, n := range nodes {
		ids = append(ids, cpuset.CPU(n))
	}
	return cpuset.Of(ids...).String()
}

// noQuota is how NRI and the OCI runtime spec say that CPU time has no limit.
const noQuota = -1

// cpuSetter is what an adjustment (of a new container) and an update (of an
// existing one) have in common.
type cpuSetter interface {
	SetLinuxCPUSetCPUs(string)
	SetLinuxCPUSetMems(string)
	SetLinuxCPUQuota(int64)
}

// set writes a decision. CPUs are always named: an empty text would mean "no
// change" and let the container run everywhere.
func set(to cpuSetter, d workload.Decision) {
	to.SetLinuxCPUSetCPUs(d.CPUs.String())
	if len(d.Mems) > 0 {
		to.SetLinuxCPUSetMems(asList(d.Mems))
	}
	if d.Exclusive {
		to.SetLinuxCPUQuota(noQuota)
	}
}

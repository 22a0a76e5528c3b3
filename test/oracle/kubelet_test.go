package oracle

import (
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	kubetopology "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	kubecpuset "k8s.io/utils/cpuset"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// kubeletPick lets the kubelet's static CPU manager choose k CPUs on a machine. The parameter
// `used` has the CPUs that are already in use. If the CPU manager refuses the request, kubeletPick
// returns false.
func kubeletPick(t *testing.T, machine *topology.Machine, reserved, used cpuset.Set, k int, option string) (cpuset.Set, bool) {
	t.Helper()
	policy, err := cpumanager.NewStaticPolicy(logr.Discard(), kubeletTopology(machine), reserved.Len(), foreign(reserved),
		silent{}, map[string]string{option: "true"})
	if err != nil {
		t.Fatalf("new static policy: %v", err)
	}
	s := state.NewMemoryState(logr.Discard())
	s.SetDefaultCPUSet(foreign(machine.Online().Minus(used)))
	pod := guaranteed(k)
	if err := policy.Allocate(logr.Discard(), s, pod, &pod.Spec.Containers[0]); err != nil {
		return cpuset.Set{}, false
	}
	got, _ := s.GetCPUSet(string(pod.UID), "app")
	return native(got), true
}

// silent is a fake topology manager without a preference. Unlike the fake in the kubelet's source,
// it does not log each call.
type silent struct{ topologymanager.Store }

func (silent) GetAffinity(string, string) topologymanager.TopologyHint {
	return topologymanager.TopologyHint{}
}

func guaranteed(cpus int) *v1.Pod {
	amounts := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(cpus), resource.DecimalSI),
		v1.ResourceMemory: resource.MustParse("1Gi"),
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "uid"},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name:      "app",
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts},
		}}},
	}
}

func kubeletTopology(machine *topology.Machine) *kubetopology.CPUTopology {
	topo := &kubetopology.CPUTopology{CPUDetails: kubetopology.CPUDetails{}}
	for _, cpu := range machine.CPUs {
		topo.CPUDetails[int(cpu.ID)] = kubetopology.CPUInfo{
			NUMANodeID: int(cpu.NUMA), SocketID: cpu.Package, CoreID: int(cpu.Core), UncoreCacheID: int(cpu.LLC),
		}
	}
	topo.NumCPUs = len(machine.CPUs)
	topo.NumCores = topo.CPUDetails.Cores().Size()
	topo.NumSockets = topo.CPUDetails.Sockets().Size()
	topo.NumNUMANodes = topo.CPUDetails.NUMANodes().Size()
	topo.NumUncoreCache = topo.CPUDetails.UncoreCaches().Size()
	return topo
}

func foreign(cpus cpuset.Set) kubecpuset.CPUSet {
	var ids []int
	for c := range cpus.All() {
		ids = append(ids, int(c))
	}
	return kubecpuset.New(ids...)
}

func native(s kubecpuset.CPUSet) cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range s.List() {
		ids = append(ids, cpuset.CPU(c))
	}
	return cpuset.Of(ids...)
}

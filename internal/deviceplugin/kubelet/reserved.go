package kubelet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Reserved returns the CPUs that never become exclusive. They are the CPUs in --reserved-cpus. If
// this flag is not set, they are the CPUs in the kubelet's reservedSystemCPUs. If neither is set,
// the kubelet's systemReserved and kubeReserved say only how many CPUs are reserved (rounded up),
// and the function `lowest` chooses these CPUs. The returned text names the setting, for the log.
// Offline CPUs are left out, so that the program can still start after a reserved CPU went offline.
func Reserved(own config.Reserved, c Config, machine *topology.Machine) (cpuset.Set, string, error) {
	online := machine.Online()
	switch {
	case own.Given:
		if missing := own.CPUs.Minus(all(machine)); !missing.Empty() {
			return cpuset.Set{}, "", fmt.Errorf("reserve CPUs %q: this machine has no CPUs %q, only %q; correct --reserved-cpus", own.CPUs, missing, all(machine))
		}
		return own.CPUs.Intersect(online), "--reserved-cpus", nil
	case !c.ReservedSystemCPUs.Empty():
		return c.ReservedSystemCPUs.Intersect(online), "reservedSystemCPUs of the kubelet", nil
	case c.ReservedMilliCPU > 0:
		n := int((c.ReservedMilliCPU + 999) / 1000)
		return lowest(machine, n), fmt.Sprintf("systemReserved and kubeReserved of the kubelet, %d millicpu", c.ReservedMilliCPU), nil
	}
	return cpuset.Set{}, "nothing is reserved", nil
}

// lowest returns the first n online CPUs in ascending order of package, core and CPU
// number. If fewer than n CPUs are online, it returns all of them. The kubelet's static CPU manager
// reserves the same CPUs. For example, if CPUs 0 and 4 are hyperthreads of one core, it
// reserves 0 and 4 when n is 2.
// Source: NewStaticPolicy in k8s.io/kubernetes/pkg/kubelet/cm/cpumanager.
func lowest(machine *topology.Machine, n int) cpuset.Set {
	cpus := slices.DeleteFunc(slices.Clone(machine.CPUs), func(cpu topology.CPU) bool { return !cpu.Online })
	slices.SortFunc(cpus, func(a, b topology.CPU) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Core, b.Core), cmp.Compare(a.ID, b.ID))
	})
	var ids []cpuset.CPU
	for _, c := range cpus[:min(n, len(cpus))] {
		ids = append(ids, c.ID)
	}
	return cpuset.Of(ids...)
}

// all returns the machine's CPUs, including offline ones.
func all(machine *topology.Machine) cpuset.Set {
	var ids []cpuset.CPU
	for _, cpu := range machine.CPUs {
		ids = append(ids, cpu.ID)
	}
	return cpuset.Of(ids...)
}

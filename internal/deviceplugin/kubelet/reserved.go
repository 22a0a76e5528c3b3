package kubelet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Reserved returns the CPUs that are never exclusive, and in a few words where
// that comes from, for the log. A list of the operator's own wins, of CPUs that
// the machine has; else the kubelet's reservedSystemCPUs count; else as many
// CPUs as the kubelet reserves by quantity, rounded up. CPUs that are offline are
// left out: one that goes must not keep an agent from starting again.
func Reserved(own config.Reserved, c Config, m *topology.Machine) (cpuset.Set, string, error) {
	online := m.Online()
	switch {
	case own.Given:
		if strange := own.CPUs.Minus(all(m)); !strange.Empty() {
			return cpuset.Set{}, "", fmt.Errorf("reserve CPUs %q: this machine has no CPUs %q (it has %q): correct --reserved-cpus", own.CPUs, strange, all(m))
		}
		return own.CPUs.Intersect(online), "--reserved-cpus", nil
	case !c.ReservedSystemCPUs.Empty():
		return c.ReservedSystemCPUs.Intersect(online), "reservedSystemCPUs of the kubelet", nil
	case c.ReservedMilliCPU > 0:
		n := int((c.ReservedMilliCPU + 999) / 1000)
		return lowest(m, n), fmt.Sprintf("systemReserved and kubeReserved of the kubelet, %d millicpu", c.ReservedMilliCPU), nil
	}
	return cpuset.Set{}, "nothing is reserved", nil
}

// lowest returns n online CPUs of the lowest-numbered cores, core by core: the
// choice of the kubelet's static CPU manager, which with 2 CPUs reserved and
// siblings 0 and 4 reserves 0 and 4. All online CPUs when there are no more.
// Source: NewStaticPolicy in k8s.io/kubernetes/pkg/kubelet/cm/cpumanager.
func lowest(m *topology.Machine, n int) cpuset.Set {
	cpus := slices.DeleteFunc(slices.Clone(m.CPUs), func(c topology.CPU) bool { return !c.Online })
	slices.SortFunc(cpus, func(a, b topology.CPU) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Core, b.Core), cmp.Compare(a.ID, b.ID))
	})
	var ids []cpuset.CPU
	for _, c := range cpus[:min(n, len(cpus))] {
		ids = append(ids, c.ID)
	}
	return cpuset.Of(ids...)
}

// all returns the machine's CPUs, offline ones too.
func all(m *topology.Machine) cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range m.CPUs {
		ids = append(ids, c.ID)
	}
	return cpuset.Of(ids...)
}

package sysfs

import (
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// kinds sets the kind of each CPU's core if the machine has a hybrid processor. On x86, each kind
// of core has a separate performance monitoring unit, and a file of this unit lists the CPUs of
// that kind. Arrow Lake H has a third unit, for its smallest cores (intel_hybrid_pmu_type_map in
// arch/x86/events/intel/core.c). On other machines, such as Arm, the kind comes from the kernel's
// file cpu_capacity. Frequencies are not used, because cores of the same kind may have different
// boost frequencies.
func (r *reader) kinds(cpus []topology.CPU) error {
	big, _, err := r.list("sys/devices/cpu_core/cpus")
	if err != nil {
		return err
	}
	small, _, err := r.list("sys/devices/cpu_atom/cpus")
	if err != nil {
		return err
	}
	smallest, _, err := r.list("sys/devices/cpu_lowpower/cpus")
	if err != nil {
		return err
	}
	small = small.Union(smallest)
	if big.Empty() || small.Empty() {
		if big, small, err = r.byCapacity(cpus); err != nil {
			return err
		}
	}
	for i := range cpus {
		switch {
		case big.Has(cpus[i].ID):
			cpus[i].Kind = topology.Performance
		case small.Has(cpus[i].ID):
			cpus[i].Kind = topology.Efficiency
		}
	}
	return nil
}

// byCapacity splits the CPUs into big and small CPUs by the kernel's file cpu_capacity, whose
// maximum is 1024 (https://docs.kernel.org/scheduler/sched-capacity.html). Capacities of cores of
// one kind may differ by a few percent: an NVIDIA GB10 has cores with 997 to 1024, and others with
// 718 to 731. So a CPU is small if its capacity is below 7/8 of the largest capacity. If no CPU is
// small, byCapacity returns two empty sets.
func (r *reader) byCapacity(cpus []topology.CPU) (big, small cpuset.Set, err error) {
	capacity := make([]int, len(cpus))
	largest := 0
	for i, cpu := range cpus {
		if !cpu.Online {
			continue
		}
		if capacity[i], err = r.id(fmt.Sprintf("%s/cpu%d/cpu_capacity", cpuDir, cpu.ID)); err != nil {
			return big, small, err
		}
		largest = max(largest, capacity[i])
	}
	for i, cpu := range cpus {
		one := cpuset.Of(cpu.ID)
		switch {
		case capacity[i] <= 0:
		case capacity[i]*8 >= largest*7:
			big = big.Union(one)
		default:
			small = small.Union(one)
		}
	}
	if small.Empty() {
		return cpuset.Set{}, cpuset.Set{}, nil
	}
	return big, small, nil
}

// Package cgroup confines containers to CPUs, and their memory to NUMA nodes. It supports cgroup v1
// and v2, and both cgroup drivers of the kubelet: cgroupfs and systemd.
//
// Package cgroup finds a container's cgroup, writes its cpuset, tells systemd about the new cpuset,
// and reads the effective cpuset. It does not decide which container gets which CPUs. It never
// writes an empty set of CPUs, because in cgroup v2 an empty set means all CPUs of the parent.
//
//	err := cgroups.Confine(ctx, "/kubepods/burstable/pod1/c1", workload.Decision{CPUs: cpuset.MustParse("4-15")})
//	err = cgroups.Persist(ctx) // now a daemon-reload does not revert it
//
// cgroups.go has the type Cgroups and most of its methods. target.go and scan.go find cgroups,
// unified.go handles cgroup v2, legacy.go handles cgroup v1, partition.go makes cpuset partitions,
// usage.go reads CPU time, and kill.go ends the processes of a container. units.go and bus.go talk to
// systemd.
package cgroup

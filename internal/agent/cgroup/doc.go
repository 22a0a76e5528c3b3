// Package cgroup confines containers to CPUs and memory nodes, on cgroup v1 and
// v2, under the cgroupfs and the systemd driver.
//
// It knows where a container's cgroup is, how to write a cpuset so that the kernel
// accepts it and systemd keeps it, and what is in force. It does not know which
// container should have which CPUs, and it never writes an empty set, which the
// kernel reads as all CPUs of the parent.
//
//	err := cgroups.Confine(ctx, "/kubepods/burstable/pod1/c1", workload.Decision{CPUs: cpuset.MustParse("4-15")})
//	err = cgroups.Persist(ctx) // now a daemon-reload does not revert it
//
// cgroups.go is the API. target.go and scan.go find cgroups, unified.go and
// legacy.go write cgroup v2 and v1, units.go and bus.go talk to systemd.
package cgroup

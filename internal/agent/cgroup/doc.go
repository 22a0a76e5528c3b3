// Package cgroup confines containers to CPUs and memory nodes, on cgroup v1 and
// v2, under the cgroupfs and the systemd driver.
//
// It finds a container's cgroup, writes a cpuset so that the kernel accepts it and systemd keeps it,
// and reads the effective cpuset. It does not decide which container gets which CPUs. It never writes
// an empty set, because the kernel reads that as all CPUs of the parent.
//
//	err := cgroups.Confine(ctx, "/kubepods/burstable/pod1/c1", workload.Decision{CPUs: cpuset.MustParse("4-15")})
//	err = cgroups.Persist(ctx) // now a daemon-reload does not revert it
//
// cgroups.go is the API. target.go and scan.go find cgroups, unified.go writes cgroup v2, legacy.go
// writes cgroup v1, and units.go and bus.go talk to systemd.
package cgroup

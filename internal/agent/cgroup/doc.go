// Package cgroup confines containers to CPUs and memory nodes, on cgroup v1 and
// v2, under the cgroupfs and the systemd driver.
//
// It knows where a container's cgroup is, how a cpuset is written so that the
// kernel takes it and systemd keeps it, and what is in force. It refuses to know
// who should have which CPUs, and it never writes an empty set: to the kernel
// that means "all of the parent's".
//
//	err := cgroups.Confine(ctx, "/kubepods/burstable/pod1/c1", cpuset.MustParse("4-15"), nil)
//	err = cgroups.Settle(ctx) // from here on a daemon-reload changes nothing
package cgroup

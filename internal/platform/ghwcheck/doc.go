// Package ghwcheck checks the discovered topology with the library ghw.
//
// ghw is reliable for cards. It drops NUMA nodes without an error, and merges cores across
// dies and packages. So the topology comes from package topology/sysfs, and differences to
// ghw are only warnings. Memory is not compared: ghw reports /proc/meminfo, which a
// container or a virtual machine may limit without a change of the NUMA nodes.
package ghwcheck

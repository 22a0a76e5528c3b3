// Package ghwcheck checks the discovered topology with the library ghw.
//
// ghw is reliable for the total memory and for cards. It drops NUMA nodes without an
// error, and merges cores across dies and packages. So the topology comes from
// package topology/sysfs, and differences to ghw are only warnings.
package ghwcheck

// Package machinetest builds machines for tests, in words:
//
//	m := machinetest.Machine(2, 28).SMT(2).NodesPerPackage(2).Build()
//
// It invents machines; captured ones come from package topology/sysfs.
package machinetest

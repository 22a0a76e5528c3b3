// Package machinetest builds machines for tests:
//
//	m := machinetest.Machine(2, 28).SMT(2).NodesPerPackage(2).Build()
//
// The machines are synthetic. Package topology/sysfs reads captured machines.
package machinetest

// Package pool is the node's ledger of exclusive CPUs: which container of
// which pod holds which CPU, what is free, what is shared.
//
// It knows the three policies and the order in which physical CPUs are taken;
// it refuses to touch cgroups, files or clocks. Same input, same output.
package pool

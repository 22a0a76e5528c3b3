// Package ghwcheck asks the library ghw what is in the computer.
//
// It knows where ghw is right (memory as a whole, cards) and where it is not
// (it drops NUMA nodes without an error, and merges cores across dies and
// packages), so that topology comes from package topology/sysfs and ghw only
// checks it.
package ghwcheck

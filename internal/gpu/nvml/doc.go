// Package nvml reads a node's GPUs from NVIDIA's management library and keeps
// what is known of their health up to date.
//
// It is the only importer of go-nvml, and so of cgo: programs that pin
// containers must not, for a crash of the driver's library ends the process.
// Where the library or the driver is missing, or a build has no cgo, a node has
// no GPUs, and that is no error.
//
// driver.go is what is asked of a driver, and go-nvml answers it in the files
// that end in _cgo.go; monitor.go turns answers and events into one inventory.
package nvml

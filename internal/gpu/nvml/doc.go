// Package nvml reads a node's GPUs from NVIDIA's management library (NVML) and
// monitors their health.
//
// It is the only importer of go-nvml, and so of cgo. Programs that pin containers
// must not import it, because a crash of the library ends the process. Without the
// library, the driver or cgo a node has no GPUs; that is not an error.
//
//	m := nvml.NewMonitor(nvml.MonitorOptions{Open: open, Publish: server.Publish, …})
//	err := m.Run(ctx)
//
// driver.go is the interface of a driver; the files that end in _cgo.go implement
// it with go-nvml. monitor.go combines inventories, probes and events.
package nvml

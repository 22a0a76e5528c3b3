// Package nvml reads a node's GPUs from NVIDIA's management library (NVML) and
// monitors their health.
//
// Package nvml is the only package that imports go-nvml (NVML's Go bindings), and so needs cgo.
// Programs that pin containers must not import it, because a crash of NVML ends the process. If
// NVML or the driver is missing, or the program was built without cgo, the node counts as a node
// without GPUs. That is not an error.
//
//	m := nvml.NewMonitor(nvml.MonitorOptions{Open: open, Publish: server.Publish, …})
//	err := m.Run(ctx)
//
// driver.go has the interface Driver. The files whose names end in _cgo.go implement it
// with go-nvml. monitor.go determines the health of GPUs from polls and from events.
package nvml

// Package deviceplugin is the program numalet-deviceplugin: it reads the machine
// and its GPUs, and registers one device plugin with the kubelet per resource.
// Package kubelet below it implements the kubelet's protocols.
//
// serve.go wires and runs, machine.go reads the CPUs, gpus.go the GPUs.
package deviceplugin

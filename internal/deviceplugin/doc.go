// Package deviceplugin is the program numalet-deviceplugin: it reads the machine
// and its GPUs, and registers one device plugin for each resource with the kubelet.
// The package deviceplugin/kubelet talks to the kubelet.
//
// serve.go connects the parts and runs them, machine.go reads the CPUs, and gpus.go
// reads the GPUs.
package deviceplugin

// Package deviceplugin is the device plugin as a whole: it reads the machine and
// its GPUs, and registers one plugin with the kubelet for each resource.
//
// Package kubelet below it speaks the kubelet's protocols.
package deviceplugin

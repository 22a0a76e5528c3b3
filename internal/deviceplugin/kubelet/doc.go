// Package kubelet is everything Numalet has to do with the kubelet: its
// configuration files, its device plugin API, its pod resources API.
//
// It refuses to know who holds which CPUs: to the kubelet, exclusive CPUs are
// anonymous tokens that it counts per NUMA node. GPUs it knows by name.
//
// publisher.go, session.go and serving.go keep the kubelet told; what it is told
// is a Source's: cpus.go, gpus.go. gpudecide.go finds out which GPUs a cluster
// controller decided on.
package kubelet

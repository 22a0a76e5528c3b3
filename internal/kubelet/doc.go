// Package kubelet is everything Numalet has to do with the kubelet: its
// configuration files, its device plugin API, its pod resources API.
//
// It refuses to know who holds which CPUs: to the kubelet, exclusive CPUs are
// anonymous tokens that it counts per NUMA node.
package kubelet

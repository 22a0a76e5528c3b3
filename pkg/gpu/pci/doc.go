// Package pci finds NVIDIA's cards in the kernel's files, without NVIDIA's library.
//
// It reads PCI devices in sysfs, and what NVIDIA's kernel driver adds in /proc. It
// does not guess what only the library reports: the index of a card, its memory,
// its MIG slices and its health.
//
//	v, err := pci.Discover(os.DirFS("/"))
package pci

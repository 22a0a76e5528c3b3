// Package pci finds NVIDIA's cards in the kernel's files, for machines on which
// nobody answers who asked NVIDIA's library.
//
// It knows what sysfs tells of a PCI device, and what NVIDIA's kernel driver adds
// to that in /proc; it refuses to guess: which index the driver counts a card by,
// how much memory it has, how it is cut and how it is, only the library tells.
//
//	v, err := pci.Discover(os.DirFS("/"))
package pci

// Package sysfs reads a machine's topology from the files of a Linux kernel in /sys and /proc. It
// supports old and new kernels.
//
// The files may be the files of the running machine, or a copy of another machine's files. They can
// be in any fs.FS that has the directories sys and proc.
//
//	m, err := sysfs.Discover(os.DirFS("/"))
package sysfs

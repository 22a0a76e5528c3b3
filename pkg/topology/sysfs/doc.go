// Package sysfs reads a machine from the files of a Linux kernel, old or new.
//
// The files may be those of the running machine or of a captured tree: any fs.FS with
// sys and proc.
//
//	m, err := sysfs.Discover(os.DirFS("/"))
package sysfs

// Package sysfs reads the machine from the files of a Linux kernel.
//
// It knows where kernels old and new keep which fact and what they leave out;
// it refuses to know where the files are: any fs.FS that holds sys and proc
// will do, a captured tree as well as the running machine.
//
//	m, err := sysfs.Discover(os.DirFS("/"))
package sysfs

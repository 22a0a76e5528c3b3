// Package capture carries a machine's topology files from one computer to
// another: as a tar, or as a directory, that is read as a root of its own.
//
// It knows tar and symbolic links; it refuses to know which files matter
// (package topology/sysfs says that) and to follow a link out of the tree.
package capture

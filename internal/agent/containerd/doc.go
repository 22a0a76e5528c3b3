// Package containerd makes a node's containerd require the agent, and takes that back: it changes
// containerd's files, has them checked by the node's own containerd, and restarts it by systemd.
//
// All state is in files, so that a new process continues where a killed one stopped: files.go writes
// them, installer.go has the steps. host.go and cri.go talk to the node.
package containerd

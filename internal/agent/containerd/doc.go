// Package containerd changes the configuration of a node's containerd so that containerd starts
// containers only while the agent is connected, and can undo the change. It writes containerd's
// configuration files, lets the node's own containerd check them, and restarts containerd through
// systemd.
//
// All state is in files, so that a new process continues where a killed process stopped. files.go
// writes the files, and installer.go has the steps. host.go and cri.go talk to the programs of the
// node.
package containerd

// Package containerd changes the configuration of a node's containerd so that containerd starts
// containers only while the agent is connected. It can also undo the change. It writes
// containerd's configuration files, lets the node's own containerd check them, and restarts
// containerd through systemd.
//
// Package containerd keeps all state in files, so that a new process continues where a killed
// process stopped. The code calls the change of the configuration an installation. installer.go has
// the steps of an installation and the steps that undo it, and files.go writes the files. host.go
// and cri.go talk to containerd, systemd and the agent.
package containerd

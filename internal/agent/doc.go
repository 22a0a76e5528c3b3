// Package agent is the program numalet-agent: it wires its parts and runs them.
//
// Below it, node decides on which CPUs each container of this node runs, nri talks to
// the container runtime, cgroup writes cpusets, checkpoint stores grants across
// restarts, and nodeapi talks to the API server.
//
// agent.go wires, run.go runs; cluster.go is for the cluster controller, mark.go
// labels the node, hotplug.go finds the CPUs that containers can use, and ends
// the agent when these change.
package agent

// Package agent is the program numalet-agent: it creates the parts of the program, connects them and
// runs them.
//
// The packages in the folder internal/agent are the parts. Package node decides on which CPUs each
// container of this node runs, and nri talks to the container runtime. Package cgroup writes
// cpusets, checkpoint stores on disk which container has which CPUs, and nodeapi talks to the API
// server.
//
// agent.go creates the parts, and run.go runs them. cluster.go has what the agent does for
// numalet-controller. mark.go sets the label numalet.dev/exclusive-cpus on the node. Pods with
// exclusive CPUs require this label. hotplug.go finds the CPUs that containers can use, and ends
// the agent when these CPUs change.
package agent

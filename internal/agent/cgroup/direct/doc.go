// Package direct pins containers for container runtimes without NRI (--enforce=cgroup). The agent
// writes a container's cgroup after the runtime has created the container. Package direct watches
// the kubelet's cgroup tree and the pods of the node. After every change, it passes all pods and
// containers to package node, which writes their cpusets. watcher.go waits for changes, and
// translate.go translates cgroups and pods into the types of package workload.
//
// The guarantees of package direct are weaker than those with NRI:
//
//   - For a pod that does not request exclusive CPUs, the pod's own cgroup is confined to the shared
//     CPUs. The kubelet creates that cgroup before the first container. The agent usually confines
//     the cgroup before the container starts, but not always.
//   - A container that requests exclusive CPUs runs on the shared CPUs until the kubelet reports the
//     container's ID in the pod status, after 1 to 2 s. The agent then moves the container to its
//     exclusive CPUs.
//   - The agent cannot refuse a container. If it cannot meet a request, the container runs on the
//     shared CPUs, and an event on the pod says why.
package direct

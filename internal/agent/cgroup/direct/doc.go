// Package direct pins containers by writing their cgroups after the runtime has created them, for
// runtimes without NRI (--enforce=cgroup). It reads the kubelet's cgroup tree and the pod informer.
// After every change of either, it passes all pods and containers to package node, which writes their
// cpusets. watcher.go waits for changes, and translate.go translates cgroups and pods into the types of
// package workload.
//
// Its guarantees are weaker than those of NRI:
//
//   - For a pod that does not request exclusive CPUs, the pod's own cgroup is confined to the shared
//     CPUs. The kubelet creates that cgroup before the first container. The agent usually confines it
//     before the container starts, but not always.
//   - A container that requests exclusive CPUs runs on the shared CPUs until the kubelet reports the
//     container's ID in the pod status, after 1 to 2 s. Then it gets its exclusive CPUs.
//   - No container can be refused: if a request cannot be met, the container runs on the shared CPUs,
//     and an event on the pod says why.
package direct

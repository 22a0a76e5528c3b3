// Package direct pins containers by writing their cgroups after the runtime has
// created them, for runtimes without NRI (--enforce=cgroup). It reads the
// kubelet's cgroup tree and the pod informer, and synchronizes the node with
// both after every change. watcher.go watches, translate.go translates.
//
// Its guarantees are weaker than those of NRI:
//
//   - A pod without a request is confined as a whole, at the pod cgroup. The
//     kubelet creates that before the first container, which usually, but not
//     always, starts in the shared set.
//   - A container with a request runs in the shared set until the kubelet reports
//     its ID in the pod status (1 to 2 s); then it gets its exclusive CPUs.
//   - Nothing can be refused: if a request cannot be met, the container runs in
//     the shared set, and an event on the pod says why.
package direct

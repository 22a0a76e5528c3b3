// Package direct places containers by writing their cgroups after the runtime
// made them: the way for a runtime without NRI (--enforce=cgroup).
//
// It knows pods and containers from the kubelet's cgroup tree and from the pod
// informer, and brings the node in line with both after every change. It is
// weaker than NRI, and says so:
//
//   - A pod that does not ask is confined as a whole, at its own cgroup, which
//     the kubelet makes before the pod's first container: as a rule that one
//     starts in the shared set, but nothing holds the runtime back.
//   - A container of a pod that asks runs in the shared set, from some
//     milliseconds after its start, until the kubelet reports its id in the
//     pod's status (a second or two); then it gets its exclusive CPUs.
//   - Nothing can be refused: a container whose ask cannot be met runs in the
//     shared set, and an event on the pod says why.
package direct

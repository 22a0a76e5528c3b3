package filters

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// nodeInfo is a node in the form that the filter plugins read. The amounts that they compare are
// stored next to it, because with 100,000 nodes each further piece of memory is a cache miss.
//
// The methods of framework.NodeInfo change it in place. Here it is immutable: each function
// below returns a new one that shares the unchanged parts.
type nodeInfo struct {
	// open is true if the node is neither cordoned nor tainted. The plugins that check this are
	// then skipped, and the v1.Node need not be read.
	open bool

	framework.NodeInfo
	requested, floor, allocatable framework.Resource // targets of the NodeInfo's pointers
}

// roomy is an info together with the backing array of a short list of pods.
type roomy struct {
	nodeInfo
	room [8]fwk.PodInfo
}

// with returns a copy of the info with the amounts and pods of u. The list of pods gets
// spare capacity for one more and may be changed in place.
func (n *nodeInfo) with(u *framework.NodeInfo) *nodeInfo {
	var next *nodeInfo
	var pods []fwk.PodInfo
	if len(u.Pods) < len(roomy{}.room) {
		r := new(roomy)
		next, pods = &r.nodeInfo, r.room[:0]
	} else {
		next, pods = new(nodeInfo), make([]fwk.PodInfo, 0, len(u.Pods)+1)
	}
	*next = nodeInfo{n.open, *u, *u.Requested, *u.NonZeroRequested, *u.Allocatable}
	next.Requested, next.NonZeroRequested, next.Allocatable = &next.requested, &next.floor, &next.allocatable
	next.Pods = append(pods, u.Pods...)
	return next
}

// withNode returns the info with another version of the node, nil for a removed node.
func withNode(old *nodeInfo, node *v1.Node) *nodeInfo {
	u := old.NodeInfo
	if node == nil {
		u.RemoveNode()
	} else {
		u.SetNode(node)
	}
	next := old.with(&u)
	next.open = node != nil && !node.Spec.Unschedulable && len(node.Spec.Taints) == 0
	return next
}

// withPod returns the info with one more pod. It copies the pointers to the node's pods, so
// it costs O(pods of the node).
func withPod(old *nodeInfo, pod *framework.PodInfo) *nodeInfo {
	next := clone(old, pod.Pod)
	next.AddPodInfo(pod)
	return next
}

// withoutPod returns the info without a pod.
func withoutPod(old *nodeInfo, pod *framework.PodInfo) *nodeInfo {
	if rare(pod.Pod) {
		return rebuilt(old, pod)
	}
	next := clone(old, pod.Pod)
	next.PodsWithAffinity = slices.Clone(next.PodsWithAffinity) // RemovePod fills the gap in place
	next.PodsWithRequiredAntiAffinity = slices.Clone(next.PodsWithRequiredAntiAffinity)
	if err := next.RemovePod(klog.Background(), pod.Pod); err != nil {
		return old
	}
	return next
}

// rebuilt returns an info built from all pods but one. RemovePod would release a host port
// even if another pod uses it, too.
func rebuilt(old *nodeInfo, without *framework.PodInfo) *nodeInfo {
	next := withNode(old.with(framework.NewNodeInfo()), old.Node())
	for _, pod := range old.Pods {
		if pod.GetPod().UID != without.Pod.UID {
			next.AddPodInfo(pod)
		}
	}
	return next
}

// clone copies what AddPodInfo or RemovePod would change for the pod. Slices lose their spare
// capacity, so that append copies them.
func clone(old *nodeInfo, pod *v1.Pod) *nodeInfo {
	if rare(pod) {
		return old.with(old.SnapshotConcrete())
	}
	next := old.with(&old.NodeInfo)
	next.PodsWithAffinity = slices.Clip(next.PodsWithAffinity)
	next.PodsWithRequiredAntiAffinity = slices.Clip(next.PodsWithRequiredAntiAffinity)
	next.requested.ScalarResources = maps.Clone(next.requested.ScalarResources)
	return next
}

// rare reports whether a pod changes the maps of ports, claims or devices.
func rare(pod *v1.Pod) bool {
	return len(util.GetHostPorts(pod)) > 0 || len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

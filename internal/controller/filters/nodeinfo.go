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

// nodeInfo is what upstream's filters look at of a node, with the amounts that they
// compare right behind it: of 100,000 nodes each piece of memory elsewhere is one more
// page to find.
//
// A framework.NodeInfo is changed in place by its methods. Here it never changes: each
// of these functions returns a new one, which shares with the old one what the change
// does not touch.
type nodeInfo struct {
	// open says that the node is not cordoned and has no taints, so that neither need be
	// asked about, for which the v1.Node would have to be read.
	open bool

	framework.NodeInfo
	requested, floor, allocatable framework.Resource // to which the NodeInfo's pointers lead
}

// roomy is an info with its list of pods, if they are few.
type roomy struct {
	nodeInfo
	room [8]fwk.PodInfo
}

// with returns the info with another of upstream's, whose amounts it copies, and whose
// list of pods: that may be changed in place, and has room for one more.
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

// withNode returns a node's info with what the API says of the node; nil for
// nothing.
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

// withPod returns a node's info with one pod more. O(pods of the node), for
// copying pointers.
func withPod(old *nodeInfo, pod *framework.PodInfo) *nodeInfo {
	next := clone(old, pod.Pod)
	next.AddPodInfo(pod)
	return next
}

// withoutPod returns a node's info with one pod less.
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

// rebuilt returns a node's info made again of all pods but one. RemovePod would
// free a host port that two pods have come to use.
func rebuilt(old *nodeInfo, without *framework.PodInfo) *nodeInfo {
	next := withNode(old.with(framework.NewNodeInfo()), old.Node())
	for _, pod := range old.Pods {
		if pod.GetPod().UID != without.Pod.UID {
			next.AddPodInfo(pod)
		}
	}
	return next
}

// clone copies what AddPodInfo or RemovePod writes for that pod. Slices lose
// their spare room, so that an append makes a new one.
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

// rare reports whether the pod is one for which maps of ports, claims or devices
// change.
func rare(pod *v1.Pod) bool {
	return len(util.GetHostPorts(pod)) > 0 || len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

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

// nodeInfo is a node in the form that the filter plugins read. The amounts of resources that the
// plugins compare are stored in the nodeInfo itself, and not behind pointers. With 100,000 nodes,
// each pointer would cost a cache miss.
//
// The methods of framework.NodeInfo change a NodeInfo in place. But a nodeInfo is immutable: the
// functions below return a new nodeInfo, which may share unchanged parts with the old one.
type nodeInfo struct {
	// open is true if the node is neither cordoned nor tainted. For such a node, the plugins that
	// check taints and spec.unschedulable are skipped, and the Node object need not be read.
	open bool

	framework.NodeInfo
	requested, floor, allocatable framework.Resource // the pointers Requested, NonZeroRequested and Allocatable of the NodeInfo point to these
}

// roomy is a nodeInfo together with the memory for a short list of pods, so that both need only one
// allocation.
type roomy struct {
	nodeInfo
	room [8]fwk.PodInfo
}

// The method `with` returns a new nodeInfo that has the data of the NodeInfo `u`, and the field
// `open` of n. Its list of pods is a copy with room for one more pod. The caller may change this
// list in place.
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

// withNode returns a copy of the nodeInfo `old` with another version of the Node object. A nil node
// means that the node was removed.
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

// withPod returns a copy of the nodeInfo `old` with one more pod. The time that withPod takes grows
// with the number of the node's pods, because it copies the list of pointers to them.
func withPod(old *nodeInfo, pod *framework.PodInfo) *nodeInfo {
	next := clone(old, pod.Pod)
	next.AddPodInfo(pod)
	return next
}

// withoutPod returns a copy of the nodeInfo `old` without one of its pods. If the node does not
// have the pod, the content is unchanged.
func withoutPod(old *nodeInfo, pod *framework.PodInfo) *nodeInfo {
	if rare(pod.Pod) {
		return rebuilt(old, pod)
	}
	next := clone(old, pod.Pod)
	next.PodsWithAffinity = slices.Clone(next.PodsWithAffinity) // RemovePod would change the shared list in place
	next.PodsWithRequiredAntiAffinity = slices.Clone(next.PodsWithRequiredAntiAffinity)
	if err := next.RemovePod(klog.Background(), pod.Pod); err != nil {
		return old
	}
	return next
}

// withVersion returns a copy of the nodeInfo `old` with another version (`now`) of one of its pods.
// If the pod was just bound as decided, both versions share the computed amounts of resources (see
// NewBoundPod), and one copy of the nodeInfo is enough. Otherwise withVersion makes two copies: it
// removes the old version, and then adds the new one.
func withVersion(old *nodeInfo, was, now *framework.PodInfo) *nodeInfo {
	if was.CalculateResource().Resource != now.CalculateResource().Resource || rare(was.Pod) || rare(now.Pod) {
		return withPod(withoutPod(old, was), now)
	}
	next := old.with(&old.NodeInfo)
	next.PodsWithAffinity = slices.Clone(next.PodsWithAffinity)
	next.PodsWithRequiredAntiAffinity = slices.Clone(next.PodsWithRequiredAntiAffinity)
	for _, pods := range [][]fwk.PodInfo{next.Pods, next.PodsWithAffinity, next.PodsWithRequiredAntiAffinity} {
		if i := slices.Index(pods, fwk.PodInfo(was)); i >= 0 {
			pods[i] = now
		}
	}
	return next
}

// rebuilt returns a nodeInfo with all pods of the nodeInfo `old` except the pod `without`. It adds
// the other pods to an empty nodeInfo. The method framework.NodeInfo.RemovePod cannot be used,
// because it would also release a host port that another pod still uses.
func rebuilt(old *nodeInfo, without *framework.PodInfo) *nodeInfo {
	next := withNode(old.with(framework.NewNodeInfo()), old.Node())
	for _, pod := range old.Pods {
		if pod.GetPod().UID != without.Pod.UID {
			next.AddPodInfo(pod)
		}
	}
	return next
}

// clone returns a copy of the nodeInfo `old` to which the given pod may be added with AddPodInfo,
// or from which it may be removed with RemovePod. clone copies the data that these methods change
// in place, and clips slices, so that append copies them. Before RemovePod, the caller must also
// copy the lists PodsWithAffinity and PodsWithRequiredAntiAffinity.
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

// rare reports whether a pod uses host ports or PersistentVolumeClaims, or gets resources such as
// CPU or memory through ResourceClaims (status.nodeAllocatableResourceClaimStatuses). A NodeInfo
// keeps these in maps, which must be copied as well before they are changed.
func rare(pod *v1.Pod) bool {
	return len(util.GetHostPorts(pod)) > 0 || len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

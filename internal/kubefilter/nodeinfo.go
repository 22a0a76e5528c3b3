package kubefilter

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// A framework.NodeInfo is changed in place by its methods. Here it never
// changes: each of these functions returns a new one, which shares with the old
// one what the change does not touch.

// withNode returns a node's info with what the API says of the node; nil for
// nothing.
func withNode(old *framework.NodeInfo, node *v1.Node) *framework.NodeInfo {
	next := *old
	if node == nil {
		next.RemoveNode()
	} else {
		next.SetNode(node)
	}
	return &next
}

// withPod returns a node's info with one pod more. O(pods of the node), for
// copying pointers.
func withPod(old *framework.NodeInfo, pod *framework.PodInfo) *framework.NodeInfo {
	next := clone(old, pod.Pod)
	next.AddPodInfo(pod)
	return next
}

// withoutPod returns a node's info with one pod less.
func withoutPod(old *framework.NodeInfo, pod *framework.PodInfo) *framework.NodeInfo {
	if rare(pod.Pod) {
		return rebuilt(old, pod)
	}
	next := clone(old, pod.Pod)
	next.Pods = slices.Clone(next.Pods) // RemovePod fills the gap in place
	next.PodsWithAffinity = slices.Clone(next.PodsWithAffinity)
	next.PodsWithRequiredAntiAffinity = slices.Clone(next.PodsWithRequiredAntiAffinity)
	if err := next.RemovePod(klog.Background(), pod.Pod); err != nil {
		return old
	}
	return next
}

// withInstead returns a node's info with another object for a pod that asks for the
// same.
func withInstead(old *framework.NodeInfo, pod *framework.PodInfo) *framework.NodeInfo {
	next := *old
	for _, pods := range []*[]fwk.PodInfo{&next.Pods, &next.PodsWithAffinity, &next.PodsWithRequiredAntiAffinity} {
		i := slices.IndexFunc(*pods, func(p fwk.PodInfo) bool { return p.GetPod().UID == pod.Pod.UID })
		if i >= 0 {
			*pods = slices.Clone(*pods)
			(*pods)[i] = pod
		}
	}
	return &next
}

// rebuilt returns a node's info made again of all pods but one. RemovePod would
// free a host port that two pods have come to use.
func rebuilt(old *framework.NodeInfo, without *framework.PodInfo) *framework.NodeInfo {
	next := framework.NewNodeInfo()
	if old.Node() != nil {
		next.SetNode(old.Node())
	}
	for _, pod := range old.Pods {
		if pod.GetPod().UID != without.Pod.UID {
			next.AddPodInfo(pod)
		}
	}
	return next
}

// clone copies what AddPodInfo or RemovePod writes for that pod. Slices lose
// their spare room, so that an append makes a new one.
func clone(old *framework.NodeInfo, pod *v1.Pod) *framework.NodeInfo {
	if rare(pod) {
		return old.SnapshotConcrete()
	}
	next := *old
	next.Pods = slices.Clip(next.Pods)
	next.PodsWithAffinity = slices.Clip(next.PodsWithAffinity)
	next.PodsWithRequiredAntiAffinity = slices.Clip(next.PodsWithRequiredAntiAffinity)
	requested, floor := *old.Requested, *old.NonZeroRequested
	requested.ScalarResources = maps.Clone(requested.ScalarResources)
	next.Requested, next.NonZeroRequested = &requested, &floor
	return &next
}

// rare reports whether the pod is one for which maps of ports, claims or devices
// change.
func rare(pod *v1.Pod) bool {
	return len(util.GetHostPorts(pod)) > 0 || len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 ||
		slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

package filters

import (
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nominations are the pending pods that are nominated for a node (status.nominatedNodeName),
// usually because another scheduler has preempted pods on that node. As in kube-scheduler, a pod of
// equal or lower priority must not use the room that was made for a nominated pod.
//
// The nodes' records (sched.Node) do not count the room for nominated pods as used, because pods of
// higher priority may use it. So a search by free resources may find nodes that the filters then
// refuse. This is rare, because nominations are few and do not last long.
type nominations struct {
	some atomic.Int32 // number of nominations: written under the lock, read without it
	mu   struct {
		sync.RWMutex
		nodes map[types.UID]string
		pods  map[string][]*framework.PodInfo // by node name
	}
}

// set nominates a pod for a node. If the parameter `node` is "", the pod's nomination ends. The
// result is the node for which the pod was nominated before. It is "" if the pod was not nominated,
// or if it was nominated for the same node.
func (n *nominations) set(uid types.UID, pod *v1.Pod, node string) (left string) {
	if node == "" && n.some.Load() == 0 {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.nodes == nil {
		n.mu.nodes, n.mu.pods = map[types.UID]string{}, map[string][]*framework.PodInfo{}
	}
	if left = n.mu.nodes[uid]; left != "" {
		n.remove(uid, left)
	}
	if node != "" {
		info, _ := podInfo(pod) // invalid affinity terms are left out
		n.mu.nodes[uid] = node
		n.mu.pods[node] = append(slices.Clip(n.mu.pods[node]), info)
	}
	n.some.Store(int32(len(n.mu.nodes)))
	if left == node {
		return ""
	}
	return left
}

// remove removes the nomination of a pod for a node. The caller holds n.mu.
func (n *nominations) remove(uid types.UID, node string) {
	delete(n.mu.nodes, uid)
	others := slices.DeleteFunc(slices.Clone(n.mu.pods[node]), func(p *framework.PodInfo) bool { return p.Pod.UID == uid })
	if n.mu.pods[node] = others; len(others) == 0 {
		delete(n.mu.pods, node)
	}
}

// The method `before` returns a copy of a nodeInfo, to which it adds pods that are nominated for
// the node. It adds the nominated pods whose priority is at least that of the given pod, because
// the given pod must not use their room. The result is nil if there are no such pods.
func (n *nominations) before(pod *v1.Pod, node *nodeInfo) *nodeInfo {
	if n.some.Load() == 0 {
		return nil
	}
	n.mu.RLock()
	all := n.mu.pods[node.Node().Name]
	n.mu.RUnlock()
	with := node
	for _, nominated := range all {
		if corev1helpers.PodPriority(nominated.Pod) >= corev1helpers.PodPriority(pod) {
			with = withPod(with, nominated)
		}
	}
	if with == node {
		return nil
	}
	return with
}

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

// nominations are the pending pods for which another scheduler has made room on a node, by
// preemption (status.nominatedNodeName). A pod of lower or equal priority must not use these
// resources, as in kube-scheduler.
//
// The records of the state do not count these resources as used, because pods of higher priority
// may use them. So the index may find nodes that the filters then refuse. Nominations are few and
// do not last long.
type nominations struct {
	some atomic.Int32 // number of nominations: written under the lock, read before it is taken
	mu   struct {
		sync.RWMutex
		nodes map[types.UID]string
		pods  map[string][]*framework.PodInfo // by node
	}
}

// set nominates a pod for a node; "" ends its nomination. It returns the node for which the pod is
// no longer nominated, or "".
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
		info, _ := podInfo(pod) // terms that cannot be read do not count
		n.mu.nodes[uid] = node
		n.mu.pods[node] = append(slices.Clip(n.mu.pods[node]), info)
	}
	n.some.Store(int32(len(n.mu.nodes)))
	if left == node {
		return ""
	}
	return left
}

// remove removes a pod from a node. The caller holds n.mu.
func (n *nominations) remove(uid types.UID, node string) {
	delete(n.mu.nodes, uid)
	others := slices.DeleteFunc(slices.Clone(n.mu.pods[node]), func(p *framework.PodInfo) bool { return p.Pod.UID == uid })
	if n.mu.pods[node] = others; len(others) == 0 {
		delete(n.mu.pods, node)
	}
}

// before returns a node's info, including those pods nominated for the node whose room a pod must
// not use. It returns nil if there are no such pods.
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

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
// preemption (status.nominatedNodeName). A pod of lower or equal priority must leave them
// this room, as in kube-scheduler.
//
// The records of the state do not count this room, because pods of higher priority may use
// it. So the index may find nodes for nothing, while the few nominations last.
type nominations struct {
	some atomic.Int32 // number of nominations: written under the lock, read before it is taken
	mu   struct {
		sync.RWMutex
		nodes map[types.UID]string
		pods  map[string][]*framework.PodInfo // by node
	}
}

// set makes a pod nominated for a node, "" for none. It returns the node on which it is not
// nominated any more, or "".
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

// before returns a node's info with the pods nominated for it to which a pod must leave room,
// or nil if there are none.
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

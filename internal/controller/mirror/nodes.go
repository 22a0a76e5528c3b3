package mirror

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// SetNode adds or updates a node.
func (m *Mirror) SetNode(object *corev1.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.node(object.Name)
	another := n.object == nil || !m.env.Filters.SameNode(n.object, object)
	n.object = object
	m.refresh(object.Name, another)
}

// RemoveNode removes a node.
func (m *Mirror) RemoveNode(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.node(name)
	m.recount(n.base, nil)
	n.object, n.base = nil, nil
	m.env.State.RemoveNode(name)
	m.tidy(name)
}

// SetTopology adds or updates a node's topology.
func (m *Mirror) SetTopology(t *v1alpha1.NodeTopology) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setTopology(t.Name, t)
}

// RemoveTopology removes a node's topology. The node then has no exclusive CPUs.
func (m *Mirror) RemoveTopology(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setTopology(name, nil)
	m.tidy(name)
}

// SetAlive sets whether the agent of a node is alive. If the agent is not alive, the node has no
// exclusive CPUs for new pods, as if its topology were not ready.
func (m *Mirror) SetAlive(name string, alive bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.node(name).silent = !alive
	m.refresh(name, false)
	m.tidy(name)
}

// The caller of the methods below holds m.mu.
func (m *Mirror) setTopology(name string, t *v1alpha1.NodeTopology) {
	n := m.node(name)
	before := map[string]sched.Holding{}
	for uid, pod := range n.reported {
		before[uid] = n.holding(pod)
	}
	n.topology, n.reports = t, reports(t)
	for uid, pod := range n.reported {
		if !before[uid].Equal(n.holding(pod)) {
			m.adopt(uid, n)
		}
	}
	m.refresh(name, false)
}

// adopt assigns a pod to its node. The assignment includes what the node reports for the pod.
func (m *Mirror) adopt(uid string, n *node) {
	pod := n.reported[uid]
	pod.Holding = n.holding(pod)
	m.env.State.Adopt(pod.Assignment)
}

// refresh passes a node to the state if its resources changed or if the filters need the
// new object (another). Kubelets update nodes every few seconds, mostly without a change.
func (m *Mirror) refresh(name string, another bool) {
	n := m.node(name)
	if n.object == nil {
		return
	}
	base := record(n, m.env.GPUs)
	n.deduct(base, m.env.GPUs)
	m.warn(n)
	if !another && n.base != nil && reflect.DeepEqual(base, n.base) {
		return
	}
	m.recount(n.base, base)
	n.base = base
	all := *base
	all.Foreign = n.object
	m.env.State.SetNode(&all)
}

// warn reports what is wrong with a node. It reports the same only once.
func (m *Mirror) warn(n *node) {
	odd, text := checkGPUs(n.object, n.topology, m.env.GPUs), ""
	if odd != nil {
		text = odd.Error()
	}
	if text != n.odd && odd != nil {
		m.env.Odd(odd)
	}
	n.odd = text
}

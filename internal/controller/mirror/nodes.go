package mirror

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// SetNode adds or updates a Node.
func (m *Mirror) SetNode(object *corev1.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.node(object.Name)
	another := node.object == nil || !m.env.Filters.SameNode(node.object, object)
	node.object = object
	m.refresh(object.Name, another)
}

// RemoveNode removes a Node.
func (m *Mirror) RemoveNode(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.node(name)
	m.recount(node.base, nil)
	node.object, node.base = nil, nil
	m.env.State.RemoveNode(name)
	m.tidy(name)
}

// SetTopology adds or updates the NodeTopology of a node.
func (m *Mirror) SetTopology(topology *v1alpha1.NodeTopology) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setTopology(topology.Name, topology)
}

// RemoveTopology removes the NodeTopology of a node. The node then has no exclusive CPUs for new
// pods.
func (m *Mirror) RemoveTopology(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setTopology(name, nil)
	m.tidy(name)
}

// SetAlive sets whether the agent of a node renews its Lease. While the agent does not, the node
// has no exclusive CPUs for new pods, as if its NodeTopology were not ready.
func (m *Mirror) SetAlive(name string, alive bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.node(name).silent = !alive
	m.refresh(name, false)
	m.tidy(name)
}

// The caller of the methods below holds m.mu.

// setTopology replaces the NodeTopology of a node. If topology is nil, the node has no NodeTopology
// any more. setTopology also updates what pods hold on the node, because the NodeTopology has the
// agent's report about these pods.
func (m *Mirror) setTopology(name string, topology *v1alpha1.NodeTopology) {
	node := m.node(name)
	before := map[string]sched.Holding{}
	for uid, pod := range node.reported {
		before[uid] = node.holding(pod)
	}
	node.topology, node.reports = topology, reports(topology)
	for uid, pod := range node.reported {
		if !before[uid].Equal(node.holding(pod)) {
			m.adopt(uid, node)
		}
	}
	m.refresh(name, false)
}

// adopt assigns a pod in n.reported to its node in the state of the nodes. The method `holding`
// says what the pod holds.
func (m *Mirror) adopt(uid string, n *node) {
	pod := n.reported[uid]
	pod.Holding = n.holding(pod)
	m.env.State.Adopt(pod.Assignment)
}

// refresh passes the record of a node to the state of the nodes if the node's resources have
// changed, or if the parameter `another` is true. The caller sets it to true if the Node object is
// new, or if any of its fields that the filters read has changed. Kubelets update nodes often,
// mostly without either of these changes.
func (m *Mirror) refresh(name string, another bool) {
	node := m.node(name)
	if node.object == nil {
		return
	}
	base := record(node, m.env.GPUs)
	node.deduct(base, m.env.GPUs)
	m.warn(node)
	if !another && node.base != nil && reflect.DeepEqual(base, node.base) {
		return
	}
	m.recount(node.base, base)
	node.base = base
	all := *base
	all.Foreign = node.object
	m.env.State.SetNode(&all)
}

// warn reports an error about a node. It does not report the same error twice in a row.
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

package mirror

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/pkg/sched"
)

// SetNode tells how a node is now.
func (m *Mirror) SetNode(object *corev1.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.node(object.Name)
	another := n.object == nil || !filters.SameNode(n.object, object)
	n.object = object
	m.refresh(object.Name, another)
}

// RemoveNode tells that there is no such node any more.
func (m *Mirror) RemoveNode(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.node(name)
	m.recount(n.base, nil)
	n.object, n.base = nil, nil
	m.env.Center.RemoveNode(name)
	m.tidy(name)
}

// SetTopology tells what a node's agent says now.
func (m *Mirror) SetTopology(t *v1alpha1.NodeTopology) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settopology(t.Name, t, shares(t))
}

// RemoveTopology tells that there is no such topology any more: the node has no
// exclusive CPUs to give.
func (m *Mirror) RemoveTopology(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settopology(name, nil, nil)
	m.tidy(name)
}

// settopology needs m.mu, as all below.
func (m *Mirror) settopology(name string, t *v1alpha1.NodeTopology, held map[string][]sched.NUMAShare) {
	n := m.node(name)
	before := n.shares
	n.topology, n.shares = t, held
	for uid, pod := range n.unplaced {
		if !slices.Equal(before[pod.onNode], held[pod.onNode]) {
			m.adopt(uid, n)
		}
	}
	m.refresh(name, false)
}

// adopt enters a pod with what its node says that it holds.
func (m *Mirror) adopt(uid string, n *node) {
	pod := n.unplaced[uid]
	pod.NUMA = n.shares[pod.onNode]
	m.env.Center.Adopt(pod.Assignment)
}

// refresh tells the centre what a node has, where that changed or filters see
// another node: the kubelet reports every few seconds and says nothing new.
func (m *Mirror) refresh(name string, another bool) {
	n := m.node(name)
	if n.object == nil {
		return
	}
	base := record(n.object, n.topology, m.env.GPUs)
	if !another && n.base != nil && reflect.DeepEqual(base, n.base) {
		return
	}
	m.recount(n.base, base)
	n.base = base
	all := *base
	all.Foreign = n.object
	m.env.Center.SetNode(&all)
}

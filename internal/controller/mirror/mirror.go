package mirror

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Env is whom the mirror tells. Its functions must not call the mirror.
type Env struct {
	Center *nodestate.State
	GPUs   string // name of the resource that counts whole cards
	// Avoids reports whether pods of an owner, by its UID, keep away from a node for now.
	Avoids func(owner, node string) bool
	// Limit keeps a pod, whose annotations these are, away from GPUs and amounts that are
	// not its tenant's to have.
	Limit    func(p *sched.Pod, annotations map[string]string) error
	Ours     func(schedulerName string) bool // whose pods are to be scheduled
	Pending  func(queue.Entry)               // a pod is to be scheduled, or asks for something else now
	Withdraw func(uid string)                // a pod that is not bound is not, or no longer, to be scheduled
	Refused  func(*sched.Pod, error)         // a pod asks for what nobody can give
	Moved    func()                          // any node may suit more pods than before whose fit depends on where others are
	Odd      func(error)                     // something could not be read in full
}

// Mirror keeps the centre and the queue as the API server says. It is told
// whatever happened to one object at a time, in any order and as often as one
// likes: the newest state of each is what counts. Its methods may be called from
// any goroutine.
type Mirror struct {
	env Env
	mu  struct {
		sync.Mutex
		nodes map[string]*node       // by name
		asks  map[string]*corev1.Pod // pending ones as they were last told of, by UID
		// models counts the nodes with cards of each model.
		models map[string]int
	}
}

// node is what is known under one name. Any part may be missing.
type node struct {
	object   *corev1.Node
	topology *v1alpha1.NodeTopology
	base     *sched.Node                  // as the centre was told
	shares   map[string][]sched.NUMAShare // what the agent says that pods hold, by UID there
	unplaced map[string]unplaced          // pods whose exclusive CPUs only the agent knows, by UID
}

// unplaced is a pod that nobody but its node has decided about.
type unplaced struct {
	onNode string // its UID there: a mirror pod has another
	nodestate.Assignment
}

// NewMirror returns a mirror that was told nothing.
func NewMirror(env Env) *Mirror {
	m := &Mirror{env: env}
	m.mu.nodes, m.mu.asks, m.mu.models = map[string]*node{}, map[string]*corev1.Pod{}, map[string]int{}
	return m
}

// These methods need m.mu.

// node returns what is known under a name, made if there is nothing.
func (m *Mirror) node(name string) *node {
	n, ok := m.mu.nodes[name]
	if !ok {
		n = &node{unplaced: map[string]unplaced{}}
		m.mu.nodes[name] = n
	}
	return n
}

// tidy forgets a name under which nothing is known.
func (m *Mirror) tidy(name string) {
	if n := m.mu.nodes[name]; n != nil && n.object == nil && n.topology == nil && len(n.unplaced) == 0 {
		delete(m.mu.nodes, name)
	}
}

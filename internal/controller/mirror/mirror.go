package mirror

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Filters are filters of another system that look at the cluster by themselves.
// They are told what happens before the centre is.
type Filters interface {
	SetNode(*corev1.Node) bool // whether the node is another to them
	RemoveNode(name string)
	SetPod(*corev1.Pod) error // that is bound
	RemovePod(*corev1.Pod)    // as it was last seen
}

// Tasks are told who uses what: of each bound pod, again where that changed, that
// its containers have ended, and that it is gone.
type Tasks interface {
	Start(fairshare.Task)
	End(uid string)
	Forget(uid string)
}

// Quotas are told what each bound pod holds, again where that changed, and that a
// pod holds nothing any more.
type Quotas interface {
	Restore(uid, tenant string, charges []group.Charge)
	End(uid string)
}

// Env is whom the mirror tells. Its functions must not call the mirror.
type Env struct {
	Center  *nodestate.Center
	Filters Filters
	Tasks   Tasks
	Quotas  Quotas
	GPUs    string // name of the resource that counts whole cards
	// Complete gives a pod what Filters know of it: Across and Foreign.
	Complete func(*sched.Pod, *corev1.Pod) error
	Ours     func(schedulerName string) bool // whose pods are to be scheduled
	Pending  func(queue.Entry)               // a pod is to be scheduled, or asks for something else now
	Bound    func(uid, gang string)          // a pod is bound; gang is the ID of its gang, "" for none
	Settled  func(uid string)                // a pod is not, or no longer, to be scheduled
	Refused  func(*sched.Pod, error)         // a pod asks for what nobody can give
	Freed    func(node string)               // a node may suit more pods than before
	Moved    func()                          // so may any, for pods whose fit depends on where others are
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
		ends  map[string]time.Time   // of those bound ones of which it is known, by UID
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
	users    map[string]user              // pods with cards, by UID
}

// unplaced is a pod that nobody but its node has decided about.
type unplaced struct {
	onNode string // its UID there: a mirror pod has another
	sched.Holding
}

// NewMirror returns a mirror that was told nothing.
func NewMirror(env Env) *Mirror {
	m := &Mirror{env: env}
	m.mu.nodes, m.mu.asks, m.mu.models = map[string]*node{}, map[string]*corev1.Pod{}, map[string]int{}
	m.mu.ends = map[string]time.Time{}
	return m
}

// These methods need m.mu.

// node returns what is known under a name, made if there is nothing.
func (m *Mirror) node(name string) *node {
	n, ok := m.mu.nodes[name]
	if !ok {
		n = &node{unplaced: map[string]unplaced{}, users: map[string]user{}}
		m.mu.nodes[name] = n
	}
	return n
}

// tidy forgets a name under which nothing is known.
func (m *Mirror) tidy(name string) {
	if n := m.mu.nodes[name]; n != nil && n.object == nil && n.topology == nil && len(n.unplaced)+len(n.users) == 0 {
		delete(m.mu.nodes, name)
	}
}

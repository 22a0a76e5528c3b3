package mirror

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Env is what a mirror updates and calls. Its functions must not call the mirror.
type Env struct {
	State      *nodestate.State
	Filters    Filters
	GPUs       string   // name of the resource that counts whole GPUs
	Schedulers []string // names in spec.schedulerName of the pods that the controller schedules
	// Priority is whether the priority of a pod counts in the queue.
	Priority bool
	// Avoids reports whether the pods of an owner, given by UID, must avoid a node at the moment.
	Avoids func(owner, node string) bool
	// NamespaceTenant returns the tenant that a Namespace's label names, or "". If the function is
	// nil, no Namespace has the label.
	NamespaceTenant func(namespace string) string
	// Limit restricts a pod to the GPUs and quotas of its tenant. The annotations are the pod's.
	Limit    func(p *sched.Pod, annotations map[string]string) error
	Pending  func(queue.Entry)       // is called when a pod is pending, and when its request changes
	Withdraw func(uid string)        // is called when an unbound pod need not be scheduled, or no longer
	Refused  func(*sched.Pod, error) // is called when no node can ever provide what a pod requests
	Odd      func(error)             // is called when an object could be read in part only
	Panicked Panicked                // is called when the handling of an object has panicked
}

// Filters makes the filters' data of objects, for the field Foreign of scheduling records.
type Filters interface {
	// ReadPod sets the filters' data of a pending pod: Foreign, and the other fields that follow
	// from it.
	ReadPod(*corev1.Pod, *sched.Pod) error
	// ReadBoundPod returns the filters' data of a bound pod, without the parts that the error
	// names. before is the pod's assignment until now, or nil.
	ReadBoundPod(pod *corev1.Pod, before *nodestate.Assignment) (any, error)
	// Nominate reads for which node another scheduler has nominated a pending pod. A nil pod no
	// longer has to be placed. Nominate is called without a lock.
	Nominate(uid types.UID, pod *corev1.Pod)
	// SameNode reports whether two versions of a node are the same for the filters.
	SameNode(a, b *corev1.Node) bool
}

// Mirror keeps the state of the nodes and the queue equal to the API server. Events of
// different objects may arrive in any order, and events may be repeated: the newest state
// of each object counts. Its methods may be called from any goroutine.
type Mirror struct {
	env Env
	mu  struct {
		sync.Mutex
		nodes    map[string]*node      // by name
		requests map[string]pendingPod // the pending pods as last seen, by UID
		// models counts the nodes with GPUs of each model.
		models map[string]int
	}
}

// node has the objects and reports with the name of a node. Any part may be missing.
type node struct {
	object   *corev1.Node
	topology *v1alpha1.NodeTopology
	silent   bool                // its agent does not renew its Lease
	base     *sched.Node         // as last passed to the state
	reports  map[string]report   // what pods hold by the agent's report, by their UID on the node
	reported map[string]reported // pods of whose holdings the agent knows more, by UID
	odd      string              // what is wrong with it, as last reported
}

// NewMirror returns a mirror that has seen no object.
func NewMirror(env Env) *Mirror {
	if env.NamespaceTenant == nil {
		env.NamespaceTenant = func(string) string { return "" }
	}
	m := &Mirror{env: env}
	m.mu.nodes, m.mu.requests, m.mu.models = map[string]*node{}, map[string]pendingPod{}, map[string]int{}
	return m
}

// The caller of the methods below holds m.mu.

// node returns the node of a name. It adds an empty one if there is none.
func (m *Mirror) node(name string) *node {
	n, ok := m.mu.nodes[name]
	if !ok {
		n = &node{reported: map[string]reported{}}
		m.mu.nodes[name] = n
	}
	return n
}

// tidy removes a name for which no part is left.
func (m *Mirror) tidy(name string) {
	if n := m.mu.nodes[name]; n != nil && n.object == nil && n.topology == nil && !n.silent && len(n.reported) == 0 {
		delete(m.mu.nodes, name)
	}
}

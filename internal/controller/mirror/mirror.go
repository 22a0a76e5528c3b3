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

// Env has the state that a mirror updates, the mirror's settings, and the functions that the mirror
// calls. These functions must not call the mirror.
type Env struct {
	State      *nodestate.State
	Filters    Filters
	GPUs       string   // name of the resource that counts whole GPUs
	Schedulers []string // values of spec.schedulerName of the pods that the controller schedules
	// Priority reports whether the priority of a pod counts in the queue.
	Priority bool
	// Avoids reports whether the pods of an owner (such as a Job) must avoid a node now. The
	// argument `owner` is the UID of the owner.
	Avoids func(owner, node string) bool
	// NamespaceTenant returns the tenant that the label of a Namespace names, or "". If the field
	// is nil, no Namespace names a tenant.
	NamespaceTenant func(namespace string) string
	// Limit restricts a pod to the GPUs and quotas of its tenant. The parameter `annotations` has
	// the annotations of the pod.
	Limit    func(p *sched.Pod, annotations map[string]string) error
	Pending  func(queue.Entry)       // is called when a pod is pending, and when its request changes
	Withdraw func(uid string)        // is called with the UID of a pod that has no node, if this controller does not schedule the pod, must not schedule it any more, or finds its request invalid
	Refused  func(*sched.Pod, error) // is called when a pod's request is invalid, or larger than any node could satisfy
	Odd      func(error)             // is called when only a part of an object could be read
	Panicked Panicked                // is called when the code that handles an object panics
}

// Filters reads the data of pods and nodes that kube-scheduler's filters need (package filters). A
// mirror stores this data in the fields Foreign of pods, assignments and nodes. filters.Reader
// implements Filters.
type Filters interface {
	// ReadPod sets those fields of a pending pod that follow from kube-scheduler's plugins and
	// profiles, such as Foreign, Across, NodeRules and Admits.
	ReadPod(*corev1.Pod, *sched.Pod) error
	// ReadBoundPod returns the data of a bound pod that the filters need. If it returns an error,
	// the result is usable, but leaves out what the error names. The parameter `before` is the
	// pod's previous assignment, or nil.
	ReadBoundPod(pod *corev1.Pod, before *nodestate.Assignment) (any, error)
	// Nominate records for which node another scheduler has nominated a pending pod. A nil pod
	// means that there is no nomination of the pod with this UID. The mirror holds no lock when it
	// calls Nominate.
	Nominate(uid types.UID, pod *corev1.Pod)
	// SameNode reports whether two versions of a node are equal in all fields that the filters
	// read.
	SameNode(a, b *corev1.Node) bool
}

// Mirror keeps the state of the nodes and the queue equal to the objects in the API server. Events
// of different objects may arrive in any order, and an event may be repeated, because only the
// newest version of each object counts. Any goroutine may call its methods.
type Mirror struct {
	env Env
	mu  struct {
		sync.Mutex
		nodes    map[string]*node      // by name
		requests map[string]pendingPod // pending pods, as they were last seen, by UID
		// types has, for each type of GPU or of part of a GPU, the number of nodes whose record has
		// this type (see the method `typesOf`).
		types map[string]int
	}
}

// node is all that the mirror knows of a node: the Node object, the NodeTopology, and what pods
// hold on the node. Each part may be missing.
type node struct {
	object   *corev1.Node
	topology *v1alpha1.NodeTopology
	silent   bool                // the node's agent does not renew its Lease
	base     *sched.Node         // the record that was last passed to the state
	reports  map[string]report   // what pods hold according to the agent, by the UID that the kubelet uses for the pod
	reported map[string]reported // bound pods with GPUs, and bound pods whose own fields do not say exactly which CPUs they hold, by UID
	odd      string              // the error that was last reported about the node
}

// NewMirror returns a mirror that has seen no object yet.
func NewMirror(env Env) *Mirror {
	if env.NamespaceTenant == nil {
		env.NamespaceTenant = func(string) string { return "" }
	}
	m := &Mirror{env: env}
	m.mu.nodes, m.mu.requests, m.mu.types = map[string]*node{}, map[string]pendingPod{}, map[string]int{}
	return m
}

// The caller of the methods below holds m.mu.

// node returns the entry of a node in m.mu.nodes. If there is none, it adds an empty entry.
func (m *Mirror) node(name string) *node {
	n, ok := m.mu.nodes[name]
	if !ok {
		n = &node{reported: map[string]reported{}}
		m.mu.nodes[name] = n
	}
	return n
}

// tidy removes the entry of a node from m.mu.nodes if the entry has no information about the node.
func (m *Mirror) tidy(name string) {
	if n := m.mu.nodes[name]; n != nil && n.object == nil && n.topology == nil && !n.silent && len(n.reported) == 0 {
		delete(m.mu.nodes, name)
	}
}

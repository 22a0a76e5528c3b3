package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/apisim"
	"github.com/numalet/numalet/pkg/topology"
)

// audit checks each change at the simulated API server, using only the API objects. It checks that
// the pods on a node never hold more than the node has, that no pod is bound twice, and that no
// condition or event contradicts a Binding. The simulated API server calls the methods of audit
// while it holds its own lock.
type audit struct {
	nodes    map[string]*heldNode
	node     map[string]string // name of the node to which a pod was bound, by the pod's UID; kept after the pod is gone
	bindings int               // number of bound pods
	began    time.Time
	traced   bool

	mu      sync.Mutex          // guards the fields below, which are also used without the server's lock
	names   map[string]string   // pod names by UID
	history map[string][]string // requests and changes of each pod, by pod name; only with -faults-trace
	wrong   []string
}

// heldNode has the allocatable amounts of a node, and what the pods on the node hold.
type heldNode struct {
	cpu, gpus int64 // cpu is in millicores, gpus is a number of GPUs
	numa      map[topology.NodeID]int
	pods      map[string]held // by UID
}

// held is what a bound pod holds. The field `gpus` has the IDs of the pod's GPUs, if the pod's
// placement names them.
type held struct {
	cpu, count int64
	numa       map[topology.NodeID]int
	gpus       []string
}

func newAudit() *audit {
	return &audit{nodes: map[string]*heldNode{}, node: map[string]string{}, history: map[string][]string{}, names: map[string]string{}, began: time.Now()}
}

func (a *audit) addNode(node *corev1.Node, t *v1alpha1.NodeTopology) {
	n := &heldNode{cpu: node.Status.Allocatable.Cpu().MilliValue(), gpus: node.Status.Allocatable.Name("nvidia.com/gpu", "").Value(), numa: map[topology.NodeID]int{}, pods: map[string]held{}}
	for _, on := range t.Status.NUMA {
		n.numa[topology.NodeID(on.ID)] = int(on.Allocatable)
	}
	a.nodes[node.Name] = n
}

// holding computes, from the requests and the placement of a pod, what the pod holds.
func holding(pod *corev1.Pod) (h held, err error) {
	for _, container := range pod.Spec.Containers {
		h.cpu += container.Resources.Requests.Cpu().MilliValue()
		h.count += container.Resources.Requests.Name("nvidia.com/gpu", "").Value()
	}
	text, ok := pod.Annotations[v1alpha1.AnnotationPlacement]
	if !ok {
		return h, nil
	}
	placement, err := v1alpha1.ParsePlacement(text)
	h.numa = map[topology.NodeID]int{}
	for _, container := range placement.Containers {
		h.gpus = append(h.gpus, container.GPUs...)
		for id, cpus := range container.CPUs {
			h.numa[id] += cpus
		}
	}
	return h, err
}

// violation records that one of the checks of audit has failed. uid is the UID of the pod
// concerned, or "" if the check was not about a particular pod.
func (a *audit) violation(uid, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...)+"\n\t"+strings.Join(a.history[a.names[uid]], "\n\t"))
}

func (a *audit) name(uid, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[uid] = name
}

// request adds an entry to the history of the pod with the given name: the class of a request that
// has reached the API server, such as "bind", and the fault that was injected into the request.
func (a *audit) request(name, class, fault string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history[name] = append(a.history[name], fmt.Sprintf("%8.3fs %s %s", time.Since(a.began).Seconds(), class, fault))
}

// violations describes the failed checks, in the order in which they failed.
func (a *audit) violations() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.wrong)
}

func (a *audit) note(uid, format string, args ...any) {
	if a.traced {
		a.request(a.names[uid], "", fmt.Sprintf(format, args...))
	}
}

// observe checks one change of a pod: no pod may be bound twice, and the pods on a node may not
// hold more than the node has.
func (a *audit) observe(c apisim.Change) {
	before, _ := c.Before.(*corev1.Pod)
	after, _ := c.After.(*corev1.Pod)
	if before == nil && after == nil {
		return
	}
	pod := after
	if pod == nil {
		pod = before
	}
	uid, on := string(pod.UID), pod.Spec.NodeName
	gone := after == nil
	a.name(uid, pod.Name)
	a.note(uid, "%s version %s: on %q, %s, gone %v", pod.Name, pod.ResourceVersion, on, pod.Status.Phase, gone)
	if on == "" {
		return
	}
	if was, ok := a.node[uid]; ok && was != on {
		a.violation(uid, "pod %s is bound to %s and then to %s", pod.Name, was, on)
	}
	n := a.nodes[on]
	if n == nil {
		a.violation(uid, "pod %s is bound to %q, which does not exist", pod.Name, on)
		return
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status != corev1.ConditionTrue {
			a.violation(uid, "pod %s is bound to %s, and its condition says %s: %s", pod.Name, on, cond.Status, cond.Message)
		}
	}
	if gone || v1alpha1.Ended(pod) {
		delete(n.pods, uid)
		return
	}
	if _, ok := a.node[uid]; !ok {
		a.node[uid] = on
		a.bindings++
	}
	h, err := holding(pod)
	if err != nil {
		a.violation(uid, "pod %s: %v", pod.Name, err)
	}
	n.pods[uid] = h
	if why := n.excess(); why != "" {
		a.violation(uid, "pod %s is bound to %s, which then has too much: %s", pod.Name, on, why)
	}
}

// free returns the amounts of the node that no pod holds.
func (n *heldNode) free() heldNode {
	left := heldNode{cpu: n.cpu, gpus: n.gpus, numa: maps.Clone(n.numa)}
	for _, pod := range n.pods {
		left.cpu -= pod.cpu
		left.gpus -= pod.count
		for id, cpus := range pod.numa {
			left.numa[id] -= cpus
		}
	}
	return left
}

// excess describes by how much the node's pods hold more than the node has, and which GPUs are
// held by more than one pod. It returns "" if there is no such excess.
func (n *heldNode) excess() string {
	left, names := n.free(), map[string]int{}
	for _, pod := range n.pods {
		for _, id := range pod.gpus {
			names[id]++
		}
	}
	why := ""
	if left.cpu < 0 {
		why += fmt.Sprintf(" %dm CPU;", -left.cpu)
	}
	if left.gpus < 0 {
		why += fmt.Sprintf(" %d GPUs;", -left.gpus)
	}
	for id, cpus := range left.numa {
		if cpus < 0 {
			why += fmt.Sprintf(" %d CPUs of NUMA node %d;", -cpus, id)
		}
	}
	for id, holders := range names {
		if holders > 1 {
			why += fmt.Sprintf(" GPU %s is given to %d pods;", id, holders)
		}
	}
	return why
}

// The method `refused` checks a Binding that the API server refused because the pod is already
// bound. The controller may repeat the same Binding, but must not bind the pod to another node.
func (a *audit) refused(pod *corev1.Pod, b *corev1.Binding) {
	a.note(string(pod.UID), "Binding to %s is refused", b.Target.Name)
	if pod.Spec.NodeName != b.Target.Name {
		a.violation(string(pod.UID), "pod %s is bound to %s, and somebody binds it to %s", pod.Name, pod.Spec.NodeName, b.Target.Name)
	}
}

// event checks that the event Scheduled of a pod names the node to which the pod is bound.
func (a *audit) event(o apisim.Object) {
	e, ok := o.(*eventsv1.Event)
	if !ok || e.Reason != v1alpha1.EventScheduled {
		return
	}
	uid := string(e.Regarding.UID)
	if a.node[uid] == "" || !strings.HasSuffix(e.Note, " to "+a.node[uid]) {
		a.violation(uid, "event of pod %s on %q: %s", e.Regarding.Name, a.node[uid], e.Note)
	}
}

// holders returns the UIDs of the pods that hold resources of the node, sorted.
func (n *heldNode) holders() []string { return slices.Sorted(maps.Keys(n.pods)) }

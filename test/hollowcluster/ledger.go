package hollowcluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/component-helpers/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
)

// Amounts are amounts of resources, by resource name. An amount is in thousandths of the resource's
// unit, such as millicores.
type Amounts map[corev1.ResourceName]int64

// AmountsOf converts a resource list to Amounts.
func AmountsOf(list corev1.ResourceList) Amounts {
	a := Amounts{}
	for name, quantity := range list {
		a[name] = quantity.MilliValue()
	}
	return a
}

// Ledger adds up the resources that pods hold on each node, and so detects resources that are
// assigned twice. It handles, in order, the events of a watch of all pods. A pod holds resources
// from its binding until it ends or is deleted. The exclusive CPUs and the GPUs of its placement
// are among these resources.
type Ledger struct {
	Room  map[string]Amounts // the allocatable resources of each node; a missing resource counts as 0
	bound map[types.UID]assignment
	held  map[string]map[types.UID]Amounts // by node
}

// assignment has the node and the placement annotation of a bound pod.
type assignment struct{ node, placement string }

// See handles an event, and reports whether the pod has just been bound. It returns an error if a
// pod's node or placement has changed after the binding. It also returns an error if the pods on a
// node hold more than the node has. This error lists what each pod on the node holds, by the pod's
// UID.
func (l *Ledger) See(e watch.Event) (bound bool, err error) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return false, fmt.Errorf("the watch says %s: %v", e.Type, e.Object)
	}
	now := assignment{pod.Spec.NodeName, pod.Annotations[v1alpha1.AnnotationPlacement]}
	before, known := l.bound[pod.UID]
	switch {
	case known && before != now:
		err = fmt.Errorf("pod %s was bound as %v and is now %v", pod.Name, before, now)
	case !known && now.node != "":
		bound, err = true, l.enter(pod, now)
	}
	if e.Type == watch.Deleted || v1alpha1.Ended(pod) {
		delete(l.held[now.node], pod.UID)
	}
	return bound, err
}

// Bound returns how many pods were bound so far.
func (l *Ledger) Bound() int { return len(l.bound) }

func (l *Ledger) enter(pod *corev1.Pod, at assignment) error {
	if l.bound == nil {
		l.bound, l.held = map[types.UID]assignment{}, map[string]map[types.UID]Amounts{}
	}
	if l.held[at.node] == nil {
		l.held[at.node] = map[types.UID]Amounts{}
	}
	l.bound[pod.UID] = at
	amounts, err := holds(pod, at.placement)
	l.held[at.node][pod.UID] = amounts
	return errors.Join(err, l.check(pod, at.node))
}

// check returns an error if the pods on a node hold more resources than the node has. The argument
// `last` is the pod that was bound last, which the error names.
func (l *Ledger) check(last *corev1.Pod, node string) error {
	sum := Amounts{}
	for _, amounts := range l.held[node] {
		for name, n := range amounts {
			sum[name] += n
		}
	}
	var over []string
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		if room := l.room(node, name); sum[name] > room {
			over = append(over, fmt.Sprintf("%d of %d thousandths of %s", sum[name], room, name))
		}
	}
	if over == nil {
		return nil
	}
	return fmt.Errorf("node %s holds with pod %s %s: %v", node, last.Name, strings.Join(over, ", "), l.held[node])
}

// gpu is the prefix of the resource names of single GPUs. Each GPU is a resource with the amount 1.
const gpu = "gpu/"

func (l *Ledger) room(node string, name corev1.ResourceName) int64 {
	if strings.HasPrefix(string(name), gpu) {
		return 1000
	}
	return l.Room[node][name]
}

// holds returns the resources that a pod holds: its requests, the exclusive CPUs of each NUMA node
// according to its placement, and each of its GPUs. For each NUMA node, the number of exclusive
// CPUs is the maximum that the pod uses there at the same time (see the function `peak`).
func holds(pod *corev1.Pod, placement string) (Amounts, error) {
	a := AmountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	a[corev1.ResourcePods] = 1000
	maps.DeleteFunc(a, func(name corev1.ResourceName, _ int64) bool {
		return strings.HasPrefix(string(name), v1alpha1.Group+"/numa")
	})
	if placement == "" {
		return a, nil
	}
	decided, err := v1alpha1.ParsePlacement(placement)
	if err != nil {
		return a, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	for id, n := range peak(pod, decided) {
		a[corev1.ResourceName(v1alpha1.NUMAResource(id))] = int64(n) * 1000
	}
	for _, container := range decided.Containers {
		for _, id := range container.GPUs {
			a[corev1.ResourceName(gpu+id)] = 1000
		}
	}
	return a, nil
}

// peak returns the maximum number of exclusive CPUs that the pod has at a time on each NUMA node.
// Init containers run one after another. After them, the app containers run together. A sidecar
// keeps its CPUs until the pod ends.
func peak(pod *corev1.Pod, decided v1alpha1.Placement) map[topology.NodeID]int {
	most, lasting := map[topology.NodeID]int{}, map[topology.NodeID]int{}
	for _, container := range pod.Spec.InitContainers {
		sidecar := container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
		for id, cpu := range decided.Containers[container.Name].CPUs {
			most[id] = max(most[id], lasting[id]+cpu)
			if sidecar {
				lasting[id] += cpu
			}
		}
	}
	for _, container := range pod.Spec.Containers {
		for id, cpu := range decided.Containers[container.Name].CPUs {
			lasting[id] += cpu
		}
	}
	for id, n := range lasting {
		most[id] = max(most[id], n)
	}
	return most
}

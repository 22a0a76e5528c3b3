package kit

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Promises adds up the CPUs that pods were promised, as a watch over all of
// them tells: a pod holds its promise from when it is bound until it has ended
// or is gone. It counts a pod's containers together, so pods with init
// containers are not for it.
type Promises struct {
	Room  map[string]map[int]int // CPUs that may be promised, by node and NUMA node
	Bound int                    // how many pods were bound so far
	held  map[types.UID]promise
}

// promise is what one pod holds.
type promise struct {
	pod, node string
	counts    map[int]int // by NUMA node
}

// See takes one event, in the order of the watch. The error names the NUMA
// node that was promised beyond its room, and to whom.
func (p *Promises) See(e watch.Event) error {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("the watch says %s: %v", e.Type, e.Object)
	}
	if e.Type == watch.Deleted || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		delete(p.held, pod.UID)
		return nil
	}
	if _, known := p.held[pod.UID]; known || pod.Spec.NodeName == "" {
		return nil
	}
	return p.enter(pod)
}

func (p *Promises) enter(pod *corev1.Pod) error {
	containers, err := Placement(pod)
	if err != nil || containers == nil {
		return err
	}
	mine := promise{pod.Name, pod.Spec.NodeName, map[int]int{}}
	for _, counts := range containers {
		for id, n := range counts {
			mine.counts[id] += n
		}
	}
	if p.held == nil {
		p.held = map[types.UID]promise{}
	}
	p.held[pod.UID] = mine
	p.Bound++
	return p.check(mine.node)
}

// check adds up one node.
func (p *Promises) check(node string) error {
	sum, who := map[int]int{}, []string{}
	for _, held := range p.held {
		if held.node != node {
			continue
		}
		who = append(who, fmt.Sprintf("%s %v", held.pod, held.counts))
		for id, n := range held.counts {
			sum[id] += n
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sum)) {
		if room := p.Room[node][id]; sum[id] > room {
			slices.Sort(who)
			return fmt.Errorf("%d CPUs of NUMA node %d of %s are promised, which has %d: %v", sum[id], id, node, room, who)
		}
	}
	return nil
}

package filters

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// shunned counts how many nodes have each taint with the effect PreferNoSchedule. If no node has
// such a taint, the method `by` reads only the field `taints`.
type shunned struct {
	taints atomic.Pointer[[]v1.Taint] // the distinct taints; nil for none
	mu     struct {
		sync.Mutex
		nodes map[v1.Taint]int
	}
}

// change updates the counts after a node has changed from the version `before` to the version `now`.
// `before` is nil for a new node, and `now` is nil for a removed node.
func (s *shunned) change(before, now *v1.Node) {
	was, is := preferNot(before), preferNot(now)
	if slices.Equal(was, is) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.nodes == nil {
		s.mu.nodes = map[v1.Taint]int{}
	}
	for _, taint := range is {
		s.mu.nodes[taint]++
	}
	for _, taint := range was {
		if s.mu.nodes[taint]--; s.mu.nodes[taint] == 0 {
			delete(s.mu.nodes, taint)
		}
	}
	s.taints.Store(nil)
	if all := slices.Collect(maps.Keys(s.mu.nodes)); len(all) > 0 {
		s.taints.Store(&all)
	}
}

// preferNot returns a node's taints with the effect PreferNoSchedule, without the times at which
// they were added.
func preferNot(node *v1.Node) (all []v1.Taint) {
	if node == nil {
		return nil
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect == v1.TaintEffectPreferNoSchedule {
			taint.TimeAdded = nil
			all = append(all, taint)
		}
	}
	return all
}

// The method `by` reports whether any node has a PreferNoSchedule taint that the given pod does not
// tolerate.
func (s *shunned) by(pod *v1.Pod) bool {
	all := s.taints.Load()
	return all != nil && slices.ContainsFunc(*all, func(taint v1.Taint) bool {
		return !slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
			return t.ToleratesTaint(klog.Background(), &taint, true)
		})
	})
}

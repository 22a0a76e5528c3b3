package filters

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// terms are the required anti-affinity terms of placed pods, each once, and the
// nodes of the pods that have it. Any goroutine may use it.
//
// Upstream matches a pending pod with every placed pod that has such a term.
// Pods of one controller have the same terms, so that matching terms instead
// costs O(terms that name the pod's namespace), which is next to nothing for
// most pods, however many replicas keep apart from each other.
type terms struct {
	some atomic.Bool // there are terms: written with the lock, read before it is taken
	mu   struct {
		sync.RWMutex
		byText      map[string]*term
		byNamespace map[string][]*term // those without a namespace selector
		anywhere    []*term            // those with one
	}
}

type term struct {
	fwk.AffinityTerm
	nodes map[string]int // pods that have it, by node
}

func newTerms() *terms {
	t := &terms{}
	t.mu.byText, t.mu.byNamespace = map[string]*term{}, map[string][]*term{}
	return t
}

// count enters the terms of a pod on a node (1), or takes them away (-1).
func (t *terms) count(node string, of []fwk.AffinityTerm, sign int) {
	if len(of) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range of {
		known := t.known(of[i])
		if known.nodes[node] += sign; known.nodes[node] == 0 {
			delete(known.nodes, node)
		}
		if len(known.nodes) == 0 {
			t.forget(known)
		}
	}
	t.some.Store(len(t.mu.byText) > 0)
}

// known returns the term, entered if it is new. It needs t.mu.
func (t *terms) known(a fwk.AffinityTerm) *term {
	known, ok := t.mu.byText[text(a)]
	if ok {
		return known
	}
	known = &term{AffinityTerm: a, nodes: map[string]int{}}
	t.mu.byText[text(a)] = known
	if selects(a.NamespaceSelector) {
		t.mu.anywhere = append(t.mu.anywhere, known)
		return known
	}
	for ns := range a.Namespaces {
		t.mu.byNamespace[ns] = append(t.mu.byNamespace[ns], known)
	}
	return known
}

// forget takes out a term that no pod has. It needs t.mu.
func (t *terms) forget(known *term) {
	delete(t.mu.byText, text(known.AffinityTerm))
	same := func(o *term) bool { return o == known }
	t.mu.anywhere = slices.DeleteFunc(t.mu.anywhere, same)
	for ns := range known.Namespaces {
		t.mu.byNamespace[ns] = slices.DeleteFunc(t.mu.byNamespace[ns], same)
		if len(t.mu.byNamespace[ns]) == 0 {
			delete(t.mu.byNamespace, ns)
		}
	}
}

// nodes returns the nodes of all pods that keep apart from that pod. namespace
// returns the labels of the pod's namespace; it is called only when needed.
func (t *terms) nodes(pod *v1.Pod, namespace func() labels.Set) sets.Set[string] {
	if !t.some.Load() {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var found sets.Set[string]
	matched := func(of []*term, ns labels.Set) {
		for _, known := range of {
			if known.Matches(pod, ns) {
				found = found.Union(sets.KeySet(known.nodes))
			}
		}
	}
	matched(t.mu.byNamespace[pod.Namespace], nil)
	if len(t.mu.anywhere) > 0 {
		matched(t.mu.anywhere, namespace())
	}
	return found
}

// text returns the same for equal terms only.
func text(a fwk.AffinityTerm) string {
	namespaces, pods := a.NamespaceSelector, a.Selector
	return fmt.Sprintln(a.TopologyKey, sets.List(a.Namespaces), selects(namespaces), namespaces, selects(pods), pods)
}

// selects reports whether a selector selects anything. One that was left out
// does not, and reads like one that selects all.
func selects(s labels.Selector) bool { return s.Empty() || s.String() != "" }

package filters

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// terms is a set of (anti-)affinity terms of placed pods. For each term it has the nodes of the
// pods with this term. A Cluster has two such sets: one for required anti-affinity, and one for the
// terms that count only when nodes are rated. Any goroutine may call the methods of terms.
//
// kube-scheduler compares a pending pod with every placed pod that has such a term. Many placed
// pods have equal terms, for example all pods of one Deployment. So Numalet compares the pending
// pod only with the distinct terms that may select pods of its namespace, however many placed pods
// have these terms.
type terms struct {
	some atomic.Bool // whether there are terms: written under the lock, read without it
	mu   struct {
		sync.RWMutex
		byText      map[string]*term
		byNamespace map[string][]*term // terms without a namespace selector
		anywhere    []*term            // terms with a namespace selector
	}
}

type term struct {
	fwk.AffinityTerm
	text  string
	nodes map[string]int // number of pods with the term, by node name
}

func newTerms() *terms {
	t := &terms{}
	t.mu.byText, t.mu.byNamespace = map[string]*term{}, map[string][]*term{}
	return t
}

// count adds (sign 1) or removes (sign -1) the terms of a pod on a node.
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

// known returns the stored term that equals the given term. If there is none, it stores the given
// term and returns it. The caller holds t.mu.
func (t *terms) known(a fwk.AffinityTerm) *term {
	text := text(a)
	known, ok := t.mu.byText[text]
	if ok {
		return known
	}
	known = &term{AffinityTerm: a, text: text, nodes: map[string]int{}}
	t.mu.byText[text] = known
	if selects(a.NamespaceSelector) {
		t.mu.anywhere = append(t.mu.anywhere, known)
		return known
	}
	for ns := range a.Namespaces {
		t.mu.byNamespace[ns] = append(t.mu.byNamespace[ns], known)
	}
	return known
}

// forget removes a term that no placed pod has any more. The caller holds t.mu.
func (t *terms) forget(known *term) {
	delete(t.mu.byText, known.text)
	same := func(o *term) bool { return o == known }
	t.mu.anywhere = slices.DeleteFunc(t.mu.anywhere, same)
	for ns := range known.Namespaces {
		t.mu.byNamespace[ns] = slices.DeleteFunc(t.mu.byNamespace[ns], same)
		if len(t.mu.byNamespace[ns]) == 0 {
			delete(t.mu.byNamespace, ns)
		}
	}
}

// nodes returns the names of the nodes that have a pod with a term that selects the given pod. The
// function given as `namespace` returns the labels of the given pod's Namespace. It is called only if
// needed.
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

// selecting returns a key for the terms whose label selector selects a pod. If two pods of the
// same namespace have equal keys, the same terms match both pods, because a term selects pods only
// by their labels and their namespace.
func (t *terms) selecting(pod *v1.Pod) string {
	if !t.some.Load() {
		return ""
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var found []string
	for _, of := range [][]*term{t.mu.byNamespace[pod.Namespace], t.mu.anywhere} {
		for _, known := range of {
			if known.Selector.Matches(labels.Set(pod.Labels)) {
				found = append(found, known.text)
			}
		}
	}
	slices.Sort(found)
	return strings.Join(found, "")
}

// text returns a key for a term. Only equal terms have equal keys.
func text(a fwk.AffinityTerm) string {
	namespaces, pods := a.NamespaceSelector, a.Selector
	return fmt.Sprintln(a.TopologyKey, sets.List(a.Namespaces), selects(namespaces), namespaces, selects(pods), pods)
}

// selects reports whether a selector can select anything. A selector that is missing in the API
// object selects nothing. For such a selector, String returns "" and Empty returns false. For a
// selector that selects everything, String also returns "", but Empty returns true.
func selects(s labels.Selector) bool { return s.Empty() || s.String() != "" }

// drawsOf returns the affinity terms of a placed pod that count when nodes are rated for other
// pods. These are its preferred affinity, its preferred anti-affinity, and its required affinity.
// Required affinity counts because in kube-scheduler it attracts in both directions: a pending pod
// prefers the node of a placed pod whose required affinity selects the pending pod.
func drawsOf(pod *framework.PodInfo) []fwk.AffinityTerm {
	if len(pod.PreferredAffinityTerms)+len(pod.PreferredAntiAffinityTerms) == 0 {
		return pod.RequiredAffinityTerms
	}
	all := slices.Clone(pod.RequiredAffinityTerms)
	for _, terms := range [][]fwk.WeightedAffinityTerm{pod.PreferredAffinityTerms, pod.PreferredAntiAffinityTerms} {
		for _, t := range terms {
			all = append(all, t.AffinityTerm)
		}
	}
	return all
}

package filters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// crowd has the placed pods that matter for the preferences of some pending pods, or for their
// required (anti-)affinity. For preferences, these are the placed pods that the preferred
// (anti-)affinity or the soft topology spread (ScheduleAnyway) of the pending pods selects. All
// pending pods that select the same pods share one crowd. The plugins that rate nodes (see
// lister.crowded) and the plugin InterPodAffinity (see lister.required) then need not read all
// nodes and all pods. A crowd may also have pods that do not matter. This does no harm, because the
// plugins check each pod again.
//
// Of a placed pod without (anti-)affinity, the plugins read only the labels, the namespace, and
// whether it is being deleted. For all pods that are equal in these three fields, a crowd has a
// single short copy. Without these copies, the plugins would spend most of their time on cache
// misses when 20,000 placed pods matter. Pods with (anti-)affinity are not copied: the nodeInfo of
// each node already lists its pods with (anti-)affinity.
type crowd struct {
	selected []selected
	nodes    map[string]near // by node name
	kinds    map[string]*kind
}

// The type `near` has the pods of a crowd on one node.
type near struct {
	copies []fwk.PodInfo // one element for each pod without (anti-)affinity; equal pods have the same pointer; immutable
	others int           // number of pods with (anti-)affinity
}

// selected describes a selection of pods: in the given namespaces, those that the label selector
// selects.
type selected struct {
	namespaces sets.Set[string]
	selector   labels.Selector
}

// kind is a group of placed pods that are equal in all that the plugins read. The field `copy` is
// the short copy that stands for each of these pods (see the type `crowd`).
type kind struct {
	copy  *framework.PodInfo
	count int
}

// preferredPods returns which pods the preferences of a pod select, and a key for this selection.
// Pods with equal keys select the same pods. The key is "" in three cases: the pod has no
// preferences about other pods, a preference selects namespaces by their labels (which may change),
// or a label selector is invalid.
func preferredPods(info *framework.PodInfo) (all []selected, key string) {
	for _, terms := range [][]fwk.WeightedAffinityTerm{info.PreferredAffinityTerms, info.PreferredAntiAffinityTerms} {
		for _, t := range terms {
			if selects(t.NamespaceSelector) {
				return nil, ""
			}
			all = append(all, selected{t.Namespaces, t.Selector})
		}
	}
	for _, c := range info.Pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.ScheduleAnyway {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return nil, ""
		}
		all = append(all, selected{sets.New(info.Pod.Namespace), selector})
	}
	return all, keyOf(all)
}

// requiredPods returns which pods the required (anti-)affinity of a pod selects, and a key for this
// selection. Pods with equal keys select the same pods. The key is "" if the pod has no required
// (anti-)affinity, or if a term selects namespaces by labels, which may change.
func requiredPods(info *framework.PodInfo) (all []selected, key string) {
	for _, terms := range [][]fwk.AffinityTerm{info.RequiredAffinityTerms, info.RequiredAntiAffinityTerms} {
		for _, t := range terms {
			if selects(t.NamespaceSelector) {
				return nil, ""
			}
			all = append(all, selected{t.Namespaces, t.Selector})
		}
	}
	return all, keyOf(all)
}

// keyOf returns a key for a selection of pods. It is "" for an empty list.
func keyOf(all []selected) string {
	var text strings.Builder
	for _, s := range all {
		fmt.Fprintln(&text, sets.List(s.namespaces), selects(s.selector), s.selector)
	}
	return text.String()
}

func newCrowd(all []selected) *crowd {
	return &crowd{selected: all, nodes: map[string]near{}, kinds: map[string]*kind{}}
}

func (c *crowd) match(pod *v1.Pod) bool {
	return slices.ContainsFunc(c.selected, func(s selected) bool {
		return s.namespaces.Has(pod.Namespace) && s.selector.Matches(labels.Set(pod.Labels))
	})
}

// topics returns topics such that each pod that the crowd selects has at least one of them. The
// comment of the type `counts` says what a topic is.
func (c *crowd) topics() (all []sched.Topic) {
	for _, s := range c.selected {
		for namespace := range s.namespaces {
			all = append(all, labelTopics(namespace, s.selector)...)
		}
	}
	return all
}

// add adds (sign 1) or removes (sign -1) a pod that the crowd selects.
func (c *crowd) add(pod *v1.Pod, node string, sign int) {
	n := c.nodes[node]
	switch copied := c.count(pod, sign); {
	case copied == nil:
		n.others += sign
	case sign > 0:
		n.copies = append(slices.Clip(n.copies), copied)
	default:
		i := slices.Index(n.copies, copied)
		n.copies = slices.Delete(slices.Clone(n.copies), i, i+1)
	}
	if c.nodes[node] = n; len(n.copies) == 0 && n.others == 0 {
		delete(c.nodes, node)
	}
}

// count counts a pod that is added (sign 1) to the group of equal pods (kind) or removed (sign -1)
// from it. It returns the copy that stands for all pods of the group. It returns nil if the pod has
// (anti-)affinity, because such pods are not copied.
func (c *crowd) count(pod *v1.Pod, sign int) fwk.PodInfo {
	if a := pod.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return nil
	}
	key := kindOf(pod)
	k := c.kinds[key]
	if k == nil {
		k = &kind{copy: shortCopy(pod)}
		c.kinds[key] = k
	}
	if k.count += sign; k.count == 0 {
		delete(c.kinds, key)
	}
	return k.copy
}

// kindOf returns a key that is equal for pods that the plugins treat alike.
func kindOf(pod *v1.Pod) string {
	var text strings.Builder
	fmt.Fprint(&text, pod.Namespace, pod.DeletionTimestamp != nil)
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		fmt.Fprintf(&text, " %q=%q", key, pod.Labels[key])
	}
	return text.String()
}

// shortCopy returns a copy of a placed pod without (anti-)affinity. The copy has only the fields
// that the plugins read.
func shortCopy(pod *v1.Pod) *framework.PodInfo {
	return &framework.PodInfo{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Labels: pod.Labels, DeletionTimestamp: pod.DeletionTimestamp,
	}}}
}

// crowdNode is a node that shows the plugins only some of its pods (see lister.showing).
type crowdNode struct {
	fwk.NodeInfo
	pods []fwk.PodInfo
}

// GetPods returns only the pods that the node shows, in place of all pods on the node.
func (n *crowdNode) GetPods() []fwk.PodInfo { return n.pods }

// crowded returns the nodes that the rating plugins must read for the preferences of the current
// pod. There are three kinds of such nodes:
//
//   - nodes with pods of the current pod's crowd, which are the placed pods that its preferences
//     select
//   - nodes that a proposer has planned for pods of the same gang or proposed for other pods (see
//     the type `lister`), because these pods will probably be placed there soon
//   - nodes with a placed pod whose affinity or anti-affinity makes the current pod prefer or avoid
//     nodes
//
// The list is never empty, because kube-scheduler's plugins would treat an empty list as a cluster
// without nodes.
func (l *lister) crowded(candidates []fwk.NodeInfo) []fwk.NodeInfo {
	nodes := l.cluster.nodesOf(l.cluster.crowdFor(l.pod.crowd, l.pod.preferred))
	for name := range l.drawn() {
		n := nodes[name]
		n.others++
		nodes[name] = n
	}
	found := l.showing(nodes)
	if len(found) == 0 {
		found = append(found, &crowdNode{candidates[0], nil})
	}
	return found
}

// required returns the nodes that PreFilter of the plugin InterPodAffinity must read for the
// current pod. It may be called only if the pod's field `requires` is not empty.
func (l *lister) required() []fwk.NodeInfo {
	return l.showing(l.cluster.nodesOf(l.cluster.crowdFor(l.pod.requires, l.pod.required)))
}

// showing returns the nodes in the given map, and the nodes with planned or proposed pods (see
// lister). The map has the pods of a crowd on each node. In the result, a node with planned or
// proposed pods has all its pods. Each other node has those of its pods without (anti-)affinity
// that belong to the crowd. If near.others of the node is not 0, the node also has all its pods
// with (anti-)affinity, even those that do not belong to the crowd: its nodeInfo already has a list
// of all of them, and the plugins check each pod again.
func (l *lister) showing(nodes map[string]near) []fwk.NodeInfo {
	whole := sets.KeySet(l.planned.nodes).Union(sets.KeySet(l.proposed))
	found := l.infos(whole)
	for name, n := range nodes {
		info := l.cluster.node(name)
		switch {
		case info == nil || whole.Has(name):
		case n.others > 0:
			found = append(found, &crowdNode{info, slices.Concat(n.copies, info.GetPodsWithAffinity())})
		default:
			found = append(found, &crowdNode{info, n.copies})
		}
	}
	return found
}

// nodesOf returns a copy of the field `nodes` of a crowd: the pods of the crowd, by node name.
func (c *Cluster) nodesOf(of *crowd) map[string]near {
	c.sets.Lock()
	defer c.sets.Unlock()
	return maps.Clone(of.nodes)
}

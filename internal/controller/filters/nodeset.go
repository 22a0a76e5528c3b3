package filters

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/numalet/numalet/pkg/sched"
)

// nodeSet is the set of nodes that admit pods with equal rules. The rules of a pod are its node
// selector, its required node affinity and its tolerations. For the nodes that are not in the set,
// nodeSet counts the reasons why they refuse the pods. The set is updated when nodes change. So a
// pod that no node admits is refused without a visit to any node.
type nodeSet struct {
	refuse func(*nodeInfo) sched.Reason
	few    atomic.Pointer[[]string] // names of the admitted nodes; nil if there are too many
	admits atomic.Int64             // number of admitted nodes

	// The fields below are used only under the lock of the type `tracked`, which caches the node
	// sets.
	all      int             // number of all nodes
	admitted int             // number of admitted nodes
	names    map[string]bool // names of the admitted nodes; nil after there were more than maxFew (see the method `remove`)
	refused  sched.Tally
}

// A proposer (which lists nodes for a pod) usually finds nodes through an index of their free
// resources. If the rules of a pod admit at most maxFew nodes, and at most the fraction 1/fewShare
// of all nodes, the proposer visits only the admitted nodes, without the index. If a larger
// fraction of the nodes is admitted, the index finds a node with enough room in fewer visits. In a
// small cluster, even a few nodes are a large fraction.
const (
	maxFew   = 64
	fewShare = 4
)

// newNodeSet returns the set of those nodes in the map `nodes` for which the function given as
// `refuse` returns an empty reason.
func newNodeSet(refuse func(*nodeInfo) sched.Reason, nodes map[string]*nodeInfo) *nodeSet {
	s := &nodeSet{refuse: refuse, refused: sched.Tally{}, names: map[string]bool{}}
	for name, info := range nodes {
		s.add(name, info)
	}
	s.publish()
	return s
}

// change updates the set after the nodeInfo of a node has changed from `before` to `now`. A nil
// nodeInfo means that the node does not exist. The result is true if the node was added or removed,
// or if the result of the function `refuse` for the node has changed.
func (s *nodeSet) change(name string, before, now *nodeInfo) bool {
	var was, is sched.Reason
	if before != nil {
		was = s.remove(name, before)
	}
	if now != nil {
		is = s.add(name, now)
	}
	s.publish()
	return was != is || (before == nil) != (now == nil)
}

// add counts a new node. It adds the node to the set if the rules admit it, and otherwise returns
// the reason why the rules refuse the node.
func (s *nodeSet) add(name string, info *nodeInfo) sched.Reason {
	s.all++
	why := s.refuse(info)
	if why.Refuses() {
		s.refused[why]++
		return why
	}
	s.admitted++
	if s.names == nil {
		return why
	}
	if s.names[name] = true; len(s.names) > maxFew {
		s.names = nil
	}
	return why
}

// remove removes a node, and returns the reason if the rules refused the node. If s.names is nil
// because there were too many admitted nodes, it stays nil, because finding the names again would
// need a visit to all nodes. Proposers then use their index of free resources. When no node is
// admitted any more, s.names becomes an empty map, which is correct without a visit.
func (s *nodeSet) remove(name string, info *nodeInfo) sched.Reason {
	s.all--
	why := s.refuse(info)
	if why.Refuses() {
		if s.refused[why]--; s.refused[why] == 0 {
			delete(s.refused, why)
		}
		return why
	}
	delete(s.names, name)
	if s.admitted--; s.admitted == 0 {
		s.names = map[string]bool{}
	}
	return why
}

func (s *nodeSet) publish() {
	s.admits.Store(int64(s.admitted))
	if s.names == nil || s.admitted*fewShare > s.all {
		s.few.Store(nil)
		return
	}
	few := slices.AppendSeq(make([]string, 0, len(s.names)), maps.Keys(s.names))
	s.few.Store(&few)
}

// rulesOf returns a key for the rules of a pod about labels and taints of nodes. Pods with equal
// keys are admitted by the same nodes. The key is "" for a pod that names its nodes in its node
// affinity, because PreFilter restricts such a pod to these nodes.
func rulesOf(pod *v1.Pod) string {
	var text []byte
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if slices.ContainsFunc(required.NodeSelectorTerms, func(t v1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 }) {
			return ""
		}
		var err error
		if text, err = json.Marshal(required); err != nil {
			return ""
		}
	}
	text = strconv.AppendQuote(text, pod.Spec.NodeName)
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		text = appendQuoted(append(text, ' '), key, pod.Spec.NodeSelector[key])
	}
	text = append(text, ';')
	for _, t := range pod.Spec.Tolerations {
		text = appendQuoted(append(text, ' '), t.Key, string(t.Operator), t.Value, string(t.Effect))
	}
	return string(text)
}

func appendQuoted(text []byte, values ...string) []byte {
	for _, value := range values {
		text = strconv.AppendQuote(text, value)
	}
	return text
}

// sameForRules reports whether two versions of a node are equal in the fields that the rules of
// pods (such as node selectors) read. Most changes of a node change none of these fields.
func sameForRules(a, b *v1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

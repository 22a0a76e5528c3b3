package filters

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Pod has the filters' data of a pod. It is stored as Foreign in a sched.Pod or an assignment. It
// is immutable, and its v1.Pod must not be changed either.
type Pod struct {
	info       *framework.PodInfo
	wide       bool              // its filters read all nodes
	claim      bool              // it uses volumes or devices, which must be reserved
	started    bool              // its status may change its requests
	rules      string            // rulesOf the pod
	neighbors  string            // neighborsOf its required affinity, and its profile if there are several
	alone      bool              // it matches its required affinity itself
	apart      string            // its anti-affinity that keeps pods like itself on other nodes; "" for none
	wishes     wishes            // what it prefers
	preferred  []selected        // the pods that matter for that
	crowd      string            // text of preferred
	spread     []labels.Selector // of the required spread; they select pods in its own namespace
	spreadKeys []string          // topology keys of the required spread
}

// NewPod returns the filters' data of a pending pod. The error names terms that cannot be read.
func NewPod(pod *v1.Pod) (*Pod, error) {
	info, err := podInfo(pod)
	if err != nil {
		return nil, err
	}
	spread, keys := spreadSelectors(pod)
	wide := len(info.RequiredAffinityTerms)+len(info.RequiredAntiAffinityTerms)+len(spread) > 0
	preferred, crowd := preferredPods(info)
	return &Pod{
		preferred: preferred, crowd: crowd,
		info: info, wide: wide, claim: claims(pod), started: started(&pod.Status), spread: spread, spreadKeys: keys, rules: rulesOf(pod), wishes: wishesOf(info),
		neighbors: neighborsOf(info.RequiredAffinityTerms), alone: (&neighbors{terms: info.RequiredAffinityTerms}).match(pod), apart: apartOf(info),
	}, nil
}

// NewBoundPod returns the filters' data of a bound pod, for its assignment. before is its
// assignment until now, or nil. The error names terms that cannot be read. These terms do not
// count.
func NewBoundPod(pod *v1.Pod, before *nodestate.Assignment) (*Pod, error) {
	if decided := podOf(before); decided != nil && !before.Bound && before.Node == pod.Spec.NodeName && sameSpec(decided.Pod, pod) {
		info := *decided
		info.Pod = pod
		return &Pod{info: &info}, nil
	}
	info, err := podInfo(pod)
	return &Pod{info: info}, err
}

// Reader reads objects for a mirror, which does not know the filters' types. If Cluster is nil,
// sched.Pod.Admits and Lacks of the pods are not set.
type Reader struct {
	Cluster       *Cluster
	Configuration *Configuration    // nil for the default
	Freed         func(node string) // is called after a node has more room than its record tells
}

// Nominate reads for which node another scheduler has nominated a pod. A nil pod no longer has to
// be placed.
func (r Reader) Nominate(uid types.UID, pod *v1.Pod) {
	if r.Cluster == nil {
		return
	}
	node := ""
	if pod != nil {
		node = pod.Status.NominatedNodeName
	}
	if left := r.Cluster.nominated.set(uid, pod, node); left != "" {
		r.Freed(left)
	}
}

// ReadPod sets Foreign to the result of NewPod, and sets the other fields that follow from it.
func (r Reader) ReadPod(pod *v1.Pod, to *sched.Pod) error {
	p, err := NewPod(pod)
	if err != nil {
		return err
	}
	r.Configuration.complete(p, to)
	to.Foreign, to.Across, to.Reserves, to.Topics, to.NodeRules = p, p.Across(), p.claim, p.topics(), p.rules
	if r.Cluster != nil && p.rules != "" {
		to.Admits = func(node *sched.Node) bool { return r.Cluster.admits(p.rules, node) }
	}
	if r.Cluster != nil && p.neighbors != "" && !p.alone {
		to.Lacks = func() bool { return r.Cluster.lacks(p.neighbors) }
	}
	return nil
}

// ReadBoundPod is NewBoundPod.
func (Reader) ReadBoundPod(pod *v1.Pod, before *nodestate.Assignment) (any, error) {
	return NewBoundPod(pod, before)
}

// SameNode is the function SameNode.
func (Reader) SameNode(a, b *v1.Node) bool { return SameNode(a, b) }

// sameSpec reports whether what was read of a pod's spec before its binding is still
// valid. The binding changes only the node's name, which the generation does not count.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go, updatePodGeneration.
func sameSpec(decided, bound *v1.Pod) bool {
	return bound.Generation != 0 && decided.Generation == bound.Generation && !rare(bound) && !rare(decided)
}

// podInfo returns the framework's PodInfo with all terms that can be read.
func podInfo(pod *v1.Pod) (*framework.PodInfo, error) {
	info, err := framework.NewPodInfo(pod)
	info.CalculateResource() // stores the result, which would be a data race later
	if err != nil {
		return info, fmt.Errorf("read affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return info, nil
}

// Across returns sched.Pod.Across: whether the pod's own rules make the fit of a node depend
// on other nodes.
func (p *Pod) Across() bool { return p.wide || p.claim }

// spreadSelectors returns the selectors of a pod's required spread and their topology keys.
// Required spread and (anti-)affinity to pods make PreFilter read all nodes.
func spreadSelectors(pod *v1.Pod) (all []labels.Selector, keys []string) {
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			selector = labels.Nothing() // the plugin reports it
		}
		all, keys = append(all, selector), append(keys, c.TopologyKey)
	}
	return all, keys
}

// claims reports whether the pod has claims, or volumes that count as claims. Bound and
// unbound claims are treated alike, because a claim's state may change at any time.
func claims(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	translator := csitranslation.New()
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil || translator.IsInlineMigratable(v) {
			return true
		}
	}
	return false
}

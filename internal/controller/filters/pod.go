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

// Pod has the data of a pod that the filters need. It is stored in the field Foreign of a sched.Pod
// or of an assignment. A Pod is immutable, and the v1.Pod in its PodInfo must not be changed
// either.
type Pod struct {
	info       *framework.PodInfo
	wide       bool              // it has required (anti-)affinity or required spread, so that other pods decide which nodes suit it
	claim      bool              // it uses volumes or devices, which must be reserved
	started    bool              // its status reports containers or resources, which may count in place of the requests in its spec (in-place resize)
	rules      string            // key of its rules about labels and taints of nodes, see rulesOf; begins with the name of its profile if there are several profiles
	neighbors  string            // key of its required pod affinity, see neighborsOf; begins with the name of its profile if there are several profiles
	alone      bool              // it matches its own required pod affinity
	apart      string            // key of its anti-affinity against pods like itself, see apartOf; "" for none
	wishes     wishes            // whether its spec makes it prefer some nodes
	preferred  []selected        // the pods that its preferences select
	crowd      string            // key of the field `preferred`, see preferredPods
	required   []selected        // the pods that its required (anti-)affinity selects
	requires   string            // key of the field `required`, see requiredPods
	spread     []labels.Selector // selectors of its required spread (DoNotSchedule), for pods of its namespace
	spreadKeys []string          // topology keys of the required spread
}

// NewPod returns the filters' data of a pending pod. The error names affinity terms that are
// invalid.
func NewPod(pod *v1.Pod) (*Pod, error) { return readPod(pod, podInfo) }

// readPod returns what NewPod returns. It calls `read`, which returns the same data as the function
// podInfo.
func readPod(pod *v1.Pod, read func(*v1.Pod) (*framework.PodInfo, error)) (*Pod, error) {
	info, err := read(pod)
	if err != nil {
		return nil, err
	}
	spread, keys := spreadSelectors(pod)
	wide := len(info.RequiredAffinityTerms)+len(info.RequiredAntiAffinityTerms)+len(spread) > 0
	preferred, crowd := preferredPods(info)
	required, requires := requiredPods(info)
	return &Pod{
		preferred: preferred, crowd: crowd, required: required, requires: requires,
		info: info, wide: wide, claim: claims(pod), started: started(&pod.Status), spread: spread, spreadKeys: keys, rules: rulesOf(pod), wishes: wishesOf(info),
		neighbors: neighborsOf(info.RequiredAffinityTerms), alone: (&neighbors{terms: info.RequiredAffinityTerms}).match(pod), apart: apartOf(info),
	}, nil
}

// NewBoundPod returns the filters' data of a bound pod, which is stored in the pod's assignment.
// The parameter `before` is the pod's previous assignment, or nil. The error names affinity terms
// that are invalid. Even with an error, the result is usable: it leaves the invalid terms out.
func NewBoundPod(pod *v1.Pod, before *nodestate.Assignment) (*Pod, error) {
	if decided := podOf(before); decided != nil && !before.Bound && before.Node == pod.Spec.NodeName && sameSpec(decided.Pod, pod) {
		info := *decided
		info.Pod = pod
		return &Pod{info: &info}, nil
	}
	info, err := podInfo(pod)
	return &Pod{info: info}, err
}

// Reader reads pods and nodes for package mirror, which watches the API server and does not know
// the types of the filters. If Cluster is nil, Reader does not set the fields of sched.Pod that read
// the Cluster (Admits and Lacks).
type Reader struct {
	Cluster       *Cluster
	Configuration *Configuration    // nil for the default
	Freed         func(node string) // is called with the name of a node when a pod is no longer nominated for this node; other pods may then use the room that was made for the pod
}

// Nominate records for which node another scheduler has nominated a pending pod
// (status.nominatedNodeName). A nil pod means that no other scheduler nominates a node for the pod
// with this UID.
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

// ReadPod sets to.Foreign to what NewPod returns. It also sets the other fields of the sched.Pod
// that the filters determine, such as Topics and NodeRules.
func (r Reader) ReadPod(pod *v1.Pod, to *sched.Pod) error {
	read := podInfo
	if r.Cluster != nil {
		read = r.Cluster.amounts.podInfo
	}
	p, err := readPod(pod, read)
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

// ReadBoundPod calls NewBoundPod, which returns the filters' data of a bound pod.
func (Reader) ReadBoundPod(pod *v1.Pod, before *nodestate.Assignment) (any, error) {
	return NewBoundPod(pod, before)
}

// SameNode calls the function SameNode of this package.
func (Reader) SameNode(a, b *v1.Node) bool { return SameNode(a, b) }

// sameSpec reports whether the spec of a bound pod equals the spec that was read before the
// Binding, apart from the node name. It compares the generations, because a Binding sets the node
// name without a new generation. It always returns false for pods without a generation, and for
// pods with host ports or volume claims, or with the special resource claims for which the function
// `rare` returns true. Source:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go,
// updatePodGeneration.
func sameSpec(decided, bound *v1.Pod) bool {
	return bound.Generation != 0 && decided.Generation == bound.Generation && !rare(bound) && !rare(decided)
}

// podInfo returns the framework's PodInfo of a pod. Invalid affinity terms are left out, and the
// error names them.
func podInfo(pod *v1.Pod) (*framework.PodInfo, error) {
	info, err := framework.NewPodInfo(pod)
	info.CalculateResource() // stores the result in info; a first call later would be a data race, because several goroutines then read info
	if err != nil {
		return info, fmt.Errorf("read affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return info, nil
}

// Across returns the value of sched.Pod.Across. It is true if the pod has required (anti-)affinity
// or required topology spread, or uses volumes or devices.
func (p *Pod) Across() bool { return p.wide || p.claim }

// spreadSelectors returns the selectors and the topology keys of a pod's required topology spread
// constraints (DoNotSchedule). Required spread makes PreFilter read all nodes.
func spreadSelectors(pod *v1.Pod) (all []labels.Selector, keys []string) {
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			selector = labels.Nothing() // the plugin PodTopologySpread reports the error
		}
		all, keys = append(all, selector), append(keys, c.TopologyKey)
	}
	return all, keys
}

// claims reports whether the pod has resource claims, or volumes for which volume plugins must run.
// It does not matter whether a claim is bound, because this may change at any time.
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

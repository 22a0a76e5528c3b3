package filters

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/numalet/numalet/pkg/sched"
)

// rating returns the names of the kube-scheduler plugins that rate (score) nodes in Numalet. It
// leaves out kube-scheduler's plugins that rate nodes by their free resources. Numalet compares
// free resources by the policy that the flag --policy names.
func rating() []string {
	return []string{names.TaintToleration, names.NodeAffinity, names.PodTopologySpread, names.InterPodAffinity, names.ImageLocality}
}

// wishes tells whether a pod prefers some nodes.
type wishes struct {
	some bool // the pod prefers some nodes to others
	near bool // the pod's preference depends on the pods that the nodes have
}

// The method `with` returns the wishes of a pod combined with those of its profile. The profile's
// default topology spread constraints apply only to a pod that has no such constraints itself.
func (w wishes) with(profile wishes, pod *v1.Pod) wishes {
	near := w.near || profile.near && len(pod.Spec.TopologySpreadConstraints) == 0
	return wishes{w.some || profile.some || near, near}
}

// wishesOf reads the wishes of a pod from its spec.
func wishesOf(info *framework.PodInfo) wishes {
	var w wishes
	w.near = len(info.PreferredAffinityTerms)+len(info.PreferredAntiAffinityTerms) > 0
	for _, c := range info.Pod.Spec.TopologySpreadConstraints {
		w.near = w.near || c.WhenUnsatisfiable == v1.ScheduleAnyway
	}
	a := info.Pod.Spec.Affinity
	w.some = w.near || a != nil && a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
	return w
}

// Preferring returns how many nodes to rate for the current pod. The parameter `nodes` is the
// number of nodes in the cluster. Preferring returns 0 if Begin has found that no node suits the
// pod. It also returns 0 if the pod prefers no node: its spec and its profile have no preferences,
// and no taints, images or other pods make it prefer a node. Preferring is called for each pod and
// must be fast. So the check of taints first reads one variable, which tells whether any node has
// PreferNoSchedule taints. The checks of images and of other pods also begin with one such
// variable.
func (p *Proposer) Preferring(nodes int) int {
	pod, c := p.lister.pod, p.lister.cluster
	if p.deferred {
		return 0
	}
	p.wish = pod.wishes.with(p.instance.wishes, pod.info.Pod)
	p.nodes, p.images = nodes, nil
	if has(p.rates, names.ImageLocality) {
		p.images = c.images.matter(pod.info.Pod, nodes)
	}
	if p.wish.some && len(p.rates) > 0 || p.images != nil || has(p.rates, names.TaintToleration) && c.shunned.by(pod.info.Pod) ||
		has(p.rates, names.InterPodAffinity) && len(p.lister.drawn()) > 0 {
		return p.config.ratedOf(p.profile, nodes)
	}
	return 0
}

// DefaultRated is how many nodes are rated by default for a pod that prefers some nodes to others.
const DefaultRated = 256

// Prefer rates nodes that fit the current pod, and calls the function given as `choose` with the
// ratings. A rating is the weighted sum of the scores that kube-scheduler's plugins give a node.
// The function `choose` returns the index of the node that the pod will probably get. If the
// preferences of the current pod depend on other pods, Prefer stores this node as a proposal (see
// the type `proposals`). When nodes are then rated for other pods, the current pod counts as if it
// were on this node. It counts so until it is assigned, but not for longer than proposalTerm.
func (p *Proposer) Prefer(nodes []*sched.Node, choose func(ratings []int64) int) {
	pod, proposed := p.lister.pod, &p.lister.cluster.proposals
	if !p.wish.near {
		choose(p.rate(nodes))
		return
	}
	proposed.turn.Lock()
	defer proposed.turn.Unlock()
	best := choose(p.rate(nodes))
	proposed.add(pod.info, nodes[best].Name)
}

// rate returns the ratings of the given nodes for the current pod. A node that is gone has the
// rating 0. If a plugin fails, all nodes have the rating 0, because a preference must never keep a
// pod from being placed.
func (p *Proposer) rate(nodes []*sched.Node) []int64 {
	l := p.lister
	if p.wish.near {
		l.proposed = l.cluster.proposals.beside(l.pod.info, l.planned.uids)
	}
	defer l.endSurvey()
	ratings := make([]int64, len(nodes))
	infos, index := make([]fwk.NodeInfo, 0, len(nodes)), make([]int, 0, len(nodes))
	for i, node := range nodes {
		info := l.at(node)
		switch {
		case info == nil:
			continue
		case p.images != nil:
			infos = append(infos, imaged(info, p.images))
		default:
			infos = append(infos, info)
		}
		index = append(index, i)
	}
	l.surveyed = p.survey(infos)
	status := p.framework.RunPreScorePlugins(p.ctx, p.state, l.pod.info.Pod, infos)
	var all []fwk.NodePluginScores
	if status.IsSuccess() {
		l.surveyed = make([]fwk.NodeInfo, p.nodes) // the score plugins read only the length of this list, once for each rated node, so all its elements are nil
		all, status = p.framework.RunScorePlugins(p.ctx, p.state, l.pod.info.Pod, infos)
	}
	if !status.IsSuccess() {
		klog.FromContext(p.ctx).Error(status.AsError(), "what a pod prefers is not known; it gets any node that fits", "pod", klog.KObj(l.pod.info.Pod))
		return ratings
	}
	for i, scores := range all {
		ratings[index[i]] = scores.TotalScore
	}
	return ratings
}

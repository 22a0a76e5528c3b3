package filters

import (
	"fmt"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// counted is the state that PreFilter of the plugin InterPodAffinity has computed for one pod of a
// gang, whose pods are planned one after another. To compute this state, the plugin counts pods on
// many nodes, including the pods of the gang that were planned before. The next pod of the gang
// with equal affinity terms reuses the state: only pods that were planned later are added.
//
// The state of the plugin PodTopologySpread cannot be reused in this way. To know the smallest
// number of pods in a topology domain, PodTopologySpread keeps only two domains with few pods.
// After pods are added to these two, another domain may have the fewest pods. So its PreFilter must
// count the pods on all nodes again.
type counted struct {
	data    fwk.StateData
	planned int    // number of planned pods that are counted in the field `data`
	mark    uint64 // number of the first change (see the type `changes`) that was stored after PreFilter had begun to count pods
}

// affinityState is the key under which the plugin InterPodAffinity stores its state.
// Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity, preFilterStateKey.
const affinityState = fwk.StateKey("PreFilter" + names.InterPodAffinity)

// prepareAlike runs PreFilter for the current pod of a gang that is being planned. It does not let
// the plugin InterPodAffinity count pods on many nodes again, but reuses the plugin's state (see
// the type `counted`) for an earlier pod of the gang with equal affinity terms. It returns false if
// there is no such state, or if the state cannot be reused. The caller must then run PreFilter of
// all plugins.
func (p *Proposer) prepareAlike() bool {
	known := p.lister.planned.counted[p.lister.alike()]
	if known == nil || p.runner.affinity == nil || p.beginLocal().Refuses() || p.only != nil {
		return false
	}
	p.state.Write(affinityState, known.data)
	p.mark = known.mark
	p.skip &^= p.runner.named(names.InterPodAffinity)
	for _, d := range p.lister.planned.pods[known.planned:] {
		info := p.lister.node(d.At.Node)
		if info == nil || !p.runner.affinity.AddPod(p.ctx, p.state, p.lister.pod.info.Pod, d.Pod.Foreign.(*Pod).info, info).IsSuccess() {
			return false
		}
	}
	known.planned = len(p.lister.planned.pods)
	return true
}

// keepCounted stores the state that PreFilter of the plugin InterPodAffinity has computed for the
// current pod. Later pods of the same gang reuse this state (see prepareAlike). keepCounted does
// nothing if the method `alike` returns no key for the pod.
func (p *Proposer) keepCounted() {
	key := p.lister.alike()
	if key == "" {
		return
	}
	if data, err := p.state.Read(affinityState); err == nil {
		p.lister.planned.counted[key] = &counted{data, len(p.lister.planned.pods), p.mark}
	}
}

// alike returns a key for the current pod of a gang that is being planned. If two pods of the gang
// have the same key, PreFilter of the plugin InterPodAffinity computes the same state for both. The
// key is "" if the state cannot be reused for other pods. It is also "" if no other pods are
// planned, as for the first pod of a gang and for a pod without a gang.
func (l *lister) alike() string {
	if len(l.planned.pods) == 0 || len(l.pod.spread) > 0 || !l.pod.wide {
		return ""
	}
	var key strings.Builder
	key.WriteString(l.pod.info.Pod.Namespace)
	for t := range l.pod.terms() {
		key.WriteString(text(*t))
	}
	fmt.Fprint(&key, len(l.pod.info.RequiredAffinityTerms))
	key.WriteString(l.cluster.terms.selecting(l.pod.info.Pod))
	key.WriteString(l.planned.terms.selecting(l.pod.info.Pod))
	return key.String()
}

// affinityOf returns the plugin InterPodAffinity, or nil if the given plugins do not include it.
func affinityOf(plugins map[string]fwk.Plugin) *interpodaffinity.InterPodAffinity {
	plugin, _ := plugins[names.InterPodAffinity].(*interpodaffinity.InterPodAffinity)
	return plugin
}

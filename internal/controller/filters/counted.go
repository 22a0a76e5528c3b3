package filters

import (
	"fmt"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// counted is the state that PreFilter of the plugin InterPodAffinity has computed for one pod of a
// gang. To compute it, the plugin counts pods on all nodes, including the pods of the gang that
// were planned before. For the next pod with equal affinity terms, only the pods that were planned
// since are added.
//
// The state of the plugin PodTopologySpread cannot be reused in this way. It keeps only the two
// topology domains with the fewest pods, so PreFilter must count all nodes again.
type counted struct {
	data    fwk.StateData
	planned int
}

// affinityState is the key under which the plugin InterPodAffinity stores its state.
// Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity, preFilterStateKey.
const affinityState = fwk.StateKey("PreFilter" + names.InterPodAffinity)

// prepareAlike runs PreFilter for the current pod, but reuses the counts (counted) of an earlier
// pod of the plan. It returns false if there are no such counts, or if they cannot be reused. The
// caller must then run PreFilter without them.
func (p *Proposer) prepareAlike() bool {
	known := p.lister.planned.counted[p.lister.alike()]
	if known == nil || p.runner.affinity == nil || p.beginLocal().Refuses() || p.only != nil {
		return false
	}
	p.state.Write(affinityState, known.data)
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

// keepCounted stores the counts of the current pod for later pods of the plan, if the pod is part
// of a plan.
func (p *Proposer) keepCounted() {
	key := p.lister.alike()
	if key == "" {
		return
	}
	if data, err := p.state.Read(affinityState); err == nil {
		p.lister.planned.counted[key] = &counted{data, len(p.lister.planned.pods)}
	}
}

// alike returns a key for the current pod. Two pods of a plan have the same key if PreFilter of the
// plugin InterPodAffinity computes the same for both. The key is "" if the pod is not part of a
// plan, or if its state cannot be reused.
func (l *lister) alike() string {
	if l.planned.counted == nil || len(l.pod.spread) > 0 || !l.pod.wide {
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

// affinityOf returns the plugin InterPodAffinity, or nil.
func affinityOf(plugins map[string]fwk.Plugin) *interpodaffinity.InterPodAffinity {
	plugin, _ := plugins[names.InterPodAffinity].(*interpodaffinity.InterPodAffinity)
	return plugin
}

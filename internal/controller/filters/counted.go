package filters

import (
	"fmt"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// counted is what the plugin InterPodAffinity has counted on all nodes for a pod of a gang,
// including the pods that were planned before it. The next pod with equal terms only adds the pods
// that were planned since. It does not count all nodes again.
//
// For the plugin PodTopologySpread, pods cannot be added in this way: it keeps only the two domains
// with the fewest pods, so it must count again.
type counted struct {
	data    fwk.StateData
	planned int
}

// affinityState is the key of the plugin's state.
// Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity, preFilterStateKey.
const affinityState = fwk.StateKey("PreFilter" + names.InterPodAffinity)

// prepareAlike runs PreFilter for the current pod with the counts of an earlier pod of the plan. It
// returns false if there are no such counts, or if the plugin has to count again.
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

// keepCounted stores the counts for the current pod, if the pod is part of a plan.
func (p *Proposer) keepCounted() {
	key := p.lister.alike()
	if key == "" {
		return
	}
	if data, err := p.state.Read(affinityState); err == nil {
		p.lister.planned.counted[key] = &counted{data, len(p.lister.planned.pods)}
	}
}

// alike returns a key. Pods of a plan have the same key if the plugin InterPodAffinity counts the
// same for them. It is "" for a pod that is not part of a plan, or for which all nodes must be
// counted.
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

// affinityOf returns the plugin InterPodAffinity.
func affinityOf(plugins map[string]fwk.Plugin) *interpodaffinity.InterPodAffinity {
	plugin, _ := plugins[names.InterPodAffinity].(*interpodaffinity.InterPodAffinity)
	return plugin
}

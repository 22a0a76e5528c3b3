package filters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// counted is what the plugin of (anti-)affinity has counted on all nodes for a pod of a gang,
// including the first planned pods. The next pod with equal terms adds the pods that were
// planned since, instead of counting all nodes again.
//
// The plugin of spread has no such addition: it keeps only the two domains with the fewest
// pods, so it must count again.
type counted struct {
	data    fwk.StateData
	planned int
}

// affinityState is the key of the plugin's state.
// Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity, preFilterStateKey.
const affinityState = fwk.StateKey("PreFilter" + names.InterPodAffinity)

// prepareAlike runs PreFilter for the current pod with what was counted for an earlier pod of
// the plan. It returns false if there is none, or if the pod has to be counted anew.
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

// keepCounted keeps what was counted for the current pod, if it is part of a plan.
func (p *Proposer) keepCounted() {
	key := p.lister.alike()
	if key == "" {
		return
	}
	if data, err := p.state.Read(affinityState); err == nil {
		p.lister.planned.counted[key] = &counted{data, len(p.lister.planned.pods)}
	}
}

// alike returns a text that is equal for pods of a plan for which the plugin of
// (anti-)affinity counts the same. It is "" for a pod that is not part of a plan, or for which
// all nodes must be counted.
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
	if l.cluster.terms.some.Load() || l.planned.terms.some.Load() { // these may select the pod by its labels
		for _, label := range slices.Sorted(maps.Keys(l.pod.info.Pod.Labels)) {
			fmt.Fprintf(&key, " %q=%q", label, l.pod.info.Pod.Labels[label])
		}
	}
	return key.String()
}

// affinityOf returns the plugin of (anti-)affinity.
func affinityOf(plugins map[string]fwk.Plugin) *interpodaffinity.InterPodAffinity {
	plugin, _ := plugins[names.InterPodAffinity].(*interpodaffinity.InterPodAffinity)
	return plugin
}

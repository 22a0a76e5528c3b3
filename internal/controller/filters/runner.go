package filters

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// runner runs the plugins of a framework in order, until a plugin refuses the pod or the node. It
// replaces the methods of kube-scheduler's framework that run plugins. For an ordinary pod, the
// metrics, logs and sets of plugin names of these methods take longer than the plugins themselves.
type runner struct {
	prepare   []preparing
	judge     []fwk.FilterPlugin
	untainted skips // the plugins that need not run for a node that is neither cordoned nor tainted
	wide      skips // the plugins that count pods on many nodes
	affinity  *interpodaffinity.InterPodAffinity
	unruled   skips // all plugins except those that check a pod's rules (see rulesOf)
}

// preparing is a PreFilter plugin. The field named "itself" is a set of Filter plugins (type skips)
// with this plugin as the only element. It is used to add the plugin to the plugins that need not
// run. If the plugin is no Filter plugin, the set is empty.
type preparing struct {
	fwk.PreFilterPlugin
	itself skips
}

// skips is a set of Filter plugins that need not run. Bit i stands for the plugin runner.judge[i].
type skips uint64

func (s skips) has(i int) bool { return s>>i&1 == 1 }

// newRunner returns a runner of the given plugins. It runs them in the order in which the profile
// lists them.
func newRunner(order *config.Plugins, plugins map[string]fwk.Plugin, l *lister) *runner {
	r := &runner{affinity: affinityOf(plugins)}
	for _, p := range order.Filter.Enabled {
		r.judge = append(r.judge, spared(plugins[p.Name], l).(fwk.FilterPlugin))
	}
	for _, p := range order.PreFilter.Enabled {
		r.prepare = append(r.prepare, preparing{spared(plugins[p.Name], l).(fwk.PreFilterPlugin), r.named(p.Name)})
	}
	r.untainted = r.named(names.NodeUnschedulable, names.TaintToleration)
	r.wide = r.named(names.PodTopologySpread, names.InterPodAffinity)
	r.unruled = ^r.named(names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity)
	return r
}

// spared returns a faster plugin with the same results, if there is one, and otherwise the given
// plugin. The faster plugin calls the given plugin only if the result is not known without it.
func spared(plugin fwk.Plugin, l *lister) fwk.Plugin {
	switch p := plugin.(type) {
	case *noderesources.Fit:
		return &fit{Fit: p, lister: l}
	case *interpodaffinity.InterPodAffinity:
		return &affinity{InterPodAffinity: p, lister: l}
	}
	return plugin
}

// preFilter runs PreFilter of all plugins for a pod. If no plugin refuses the pod or restricts it
// to certain nodes, preFilter returns the Filter plugins that need not run, and true. Otherwise it
// returns false, and the caller must call beginUpstream.
func (r *runner) preFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (skips, bool) {
	var skip skips
	for _, p := range r.prepare {
		only, status := p.PreFilter(ctx, state, pod, nodes)
		switch {
		case status.IsSkip():
			skip |= p.itself
		case !status.IsSuccess() || !only.AllNodes():
			return 0, false
		}
	}
	return skip, true
}

// preFilterLocal runs PreFilter without the plugins in r.wide. It sets *skip to the Filter plugins
// that need not run: the plugins in r.wide, and those that do not matter for the pod. It returns
// the nodes to which the plugins restrict the pod, or nil for all nodes.
func (r *runner) preFilterLocal(ctx context.Context, state fwk.CycleState, pod *v1.Pod, skip *skips) (only *fwk.PreFilterResult, _ *fwk.Status) {
	*skip = r.wide
	for _, p := range r.prepare {
		if p.itself&r.wide != 0 {
			continue
		}
		selected, status := p.PreFilter(ctx, state, pod, nil)
		switch {
		case status.IsSkip():
			*skip |= p.itself
		case !status.IsSuccess():
			return nil, status
		case !selected.AllNodes():
			only = only.Merge(selected)
		}
	}
	return only, nil
}

// named returns the set of the Filter plugins with the given names.
func (r *runner) named(names ...string) skips {
	var found skips
	for i, p := range r.judge {
		if slices.Contains(names, p.Name()) {
			found |= 1 << i
		}
	}
	return found
}

// filter runs the Filter plugins for a node. It returns the status of the first plugin that refuses
// the node or fails, or nil if no plugin does.
func (r *runner) filter(ctx context.Context, state fwk.CycleState, skip skips, pod *v1.Pod, node *nodeInfo) *fwk.Status {
	if node.open {
		skip |= r.untainted
	}
	for i, p := range r.judge {
		if skip.has(i) {
			continue
		}
		switch status := p.Filter(ctx, state, pod, node); {
		case status.IsSuccess():
		case status.IsRejected():
			return status
		default:
			return fwk.AsStatus(fmt.Errorf("running %q filter plugin: %w", p.Name(), status.AsError()))
		}
	}
	return nil
}

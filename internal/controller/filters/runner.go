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

// runner runs the plugins of a framework as the framework does, one after
// another until one refuses, without what the framework does besides: times for
// metrics, values for logs, and a set of the names of what is to be skipped. For
// a pod that asks for nothing special that is more than what the plugins do.
type runner struct {
	prepare []preparing
	judge   []fwk.FilterPlugin
	barred  skips // the plugins that have nothing to say about a node that is open
}

// preparing is a plugin that turns to pods, and the same one if it judges nodes.
type preparing struct {
	fwk.PreFilterPlugin
	itself skips
}

// skips says which of the plugins that judge, by index, have nothing to say
// about a pod.
type skips uint64

func (s skips) has(i int) bool { return s>>i&1 == 1 }

// newRunner returns a runner of the plugins that a framework has, in its order.
func newRunner(order *config.Plugins, plugins map[string]fwk.Plugin, l *lister) *runner {
	r := &runner{}
	for _, p := range order.Filter.Enabled {
		r.judge = append(r.judge, spared(plugins[p.Name], l).(fwk.FilterPlugin))
	}
	for _, p := range order.PreFilter.Enabled {
		r.prepare = append(r.prepare, preparing{spared(plugins[p.Name], l).(fwk.PreFilterPlugin), r.named(p.Name)})
	}
	r.barred = r.named(names.NodeUnschedulable, names.TaintToleration)
	return r
}

// spared returns a plugin that gives the same verdicts and saves what can be
// told beforehand.
func spared(plugin fwk.Plugin, l *lister) fwk.Plugin {
	switch p := plugin.(type) {
	case *noderesources.Fit:
		return &fit{Fit: p, lister: l}
	case *interpodaffinity.InterPodAffinity:
		return &affinity{InterPodAffinity: p, lister: l}
	}
	return plugin
}

// preFilter turns to a pod, and reports whether nothing has come of it but
// plugins to skip: no plugin refuses the pod, or names the only nodes.
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

// named returns the plugins that judge and are among those names.
func (r *runner) named(names ...string) skips {
	var found skips
	for i, p := range r.judge {
		if slices.Contains(names, p.Name()) {
			found |= 1 << i
		}
	}
	return found
}

// filter says what the first plugin has against a node that refuses it.
func (r *runner) filter(ctx context.Context, state fwk.CycleState, skip skips, pod *v1.Pod, node *nodeInfo) *fwk.Status {
	if node.open {
		skip |= r.barred
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

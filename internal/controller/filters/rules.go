package filters

import (
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/numalet/numalet/pkg/sched"
)

// few returns the nodes that may suit the current pod, if they are few. It returns an empty list if
// the pod's rules admit no node, or if the pod requires a neighbor that does not exist. Nil means
// that the nodes are many or not known.
func (p *Proposer) few() []string {
	pod := p.lister.pod
	if pod.neighbors != "" && p.runner.named(names.InterPodAffinity) != 0 && !pod.alone && len(p.lister.planned.pods) == 0 && p.lister.cluster.neighborsFor(pod).count.Load() == 0 {
		return []string{}
	}
	if pod.rules == "" {
		return nil
	}
	if few := p.nodeSet().few.Load(); few != nil {
		return *few
	}
	return nil
}

// Refusals counts the nodes by the reason why the rules of the current pod refuse them. It returns
// nil if the rules admit a node.
func (p *Proposer) Refusals() sched.Tally {
	if p.lister.pod.rules == "" {
		return nil
	}
	return p.lister.cluster.refusals(p.nodeSet())
}

// nodeSet returns the set of the nodes that the rules of the current pod admit.
func (p *Proposer) nodeSet() *nodeSet {
	pod := p.lister.pod
	return p.lister.cluster.nodeSetFor(pod.rules, func() func(*nodeInfo) sched.Reason { return p.refuse(pod) })
}

// refuse returns a function that tells why the rules of a pod refuse a node. It is the same for all
// pods with equal rules. Any goroutine may call the returned function.
func (p *Proposer) refuse(pod *Pod) func(*nodeInfo) sched.Reason {
	// Keep the runner of this pod's profile, because p serves pods of other profiles later.
	runner, ctx, state := p.runner, p.ctx, framework.NewCycleState()
	skip := runner.unruled
	for _, plugin := range runner.prepare {
		if plugin.Name() != names.NodeAffinity {
			continue
		}
		if _, status := plugin.PreFilter(ctx, state, pod.info.Pod, nil); status.IsSkip() {
			skip |= plugin.itself
		}
	}
	return func(node *nodeInfo) sched.Reason {
		return reason(runner.filter(ctx, state, skip, pod.info.Pod, node), sched.Other)
	}
}

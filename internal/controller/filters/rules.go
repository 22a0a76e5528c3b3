package filters

import (
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/numalet/numalet/pkg/sched"
)

// few returns the names of the nodes that may suit the current pod, if they are few. It returns an
// empty list if the pod's rules (such as its node selector) admit no node, or if no pod on any node
// matches the pod's required pod affinity. It returns nil if many nodes may suit the pod, or if it
// is not known which nodes may suit the pod.
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

// Refusals returns, for each reason, how many nodes the rules of the current pod (such as its node
// selector) refuse for this reason. It returns nil if the rules admit at least one node, or if the
// pod has no key for its rules (see rulesOf).
func (p *Proposer) Refusals() sched.Tally {
	if p.lister.pod.rules == "" {
		return nil
	}
	return p.lister.cluster.refusals(p.nodeSet())
}

// nodeSet returns the set of the nodes that the rules of the current pod (such as its node
// selector) admit.
func (p *Proposer) nodeSet() *nodeSet {
	pod := p.lister.pod
	return p.lister.cluster.nodeSetFor(pod.rules, func() func(*nodeInfo) sched.Reason { return p.refuse(pod) })
}

// refuse returns a function that tells why the rules of a pod refuse a node. The function gives the
// same answers for all pods with equal rules. Any goroutine may call the function.
func (p *Proposer) refuse(pod *Pod) func(*nodeInfo) sched.Reason {
	// Keep the current runner, which is that of the pod's profile, because p.runner changes when p
	// serves pods of other profiles.
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

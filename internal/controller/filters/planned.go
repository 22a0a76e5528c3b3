package filters

import (
	"github.com/numalet/numalet/pkg/sched"
)

// planned is what one instance sees beside the cluster: pods on the nodes where they are
// planned, as those who plan for several pods one after the other need it. Volumes and
// devices are not planned.
type planned struct {
	pods  []sched.Decision
	nodes map[string]*nodeInfo // with those pods
	terms *terms               // of those pods
}

// Plan lets the filters see pods where they are planned, and no others that were before.
// A plan to which something was appended costs only that.
func (p *Proposer) Plan(pods []sched.Decision) {
	l := p.lister
	if !l.planned.begins(pods) {
		l.planned = planned{nodes: map[string]*nodeInfo{}, terms: newTerms()}
	}
	for _, d := range pods[len(l.planned.pods):] {
		if info := l.node(d.At.Node); info != nil {
			l.planned.add(d, info)
		}
	}
	l.planned.pods = pods
}

// begins reports whether a plan goes on from this one.
func (p *planned) begins(pods []sched.Decision) bool {
	n := len(p.pods)
	if n == 0 || n > len(pods) {
		return n == 0 && p.nodes != nil
	}
	last, same := p.pods[n-1], pods[n-1]
	return last.Pod == same.Pod && last.At.Node == same.At.Node
}

// on returns a node's info with what is planned there, where something is.
func (p *planned) on(node string, info *nodeInfo) *nodeInfo {
	if with := p.nodes[node]; with != nil {
		return with
	}
	return info
}

func (p *planned) add(d sched.Decision, to *nodeInfo) {
	pod := d.Pod.Foreign.(*Pod).info
	p.nodes[d.At.Node] = withPod(to, pod)
	p.terms.count(d.At.Node, pod.RequiredAntiAffinityTerms, 1)
}

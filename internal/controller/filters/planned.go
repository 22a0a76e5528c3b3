package filters

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/sched"
)

// planned has the pods that one instance reads in addition to the cluster: the planned pods of a
// gang, or of another group of pods that are planned one after another. Volumes and devices are not
// planned.
type planned struct {
	pods    []sched.Decision
	uids    map[types.UID]bool   // of the pods
	nodes   map[string]*nodeInfo // infos with the planned pods, by node name
	terms   *terms               // anti-affinity terms of the planned pods
	counted map[string]*counted  // what was counted for pods of the plan, by lister.alike
}

// Plan makes the filters see the given pods on their planned nodes, in place of the former
// plan. If pods extends the former plan, only the new pods cost time.
func (p *Proposer) Plan(pods []sched.Decision) {
	l := p.lister
	if !l.planned.begins(pods) {
		l.planned = planned{uids: map[types.UID]bool{}, nodes: map[string]*nodeInfo{}, terms: newTerms(), counted: map[string]*counted{}}
	}
	for _, d := range pods[len(l.planned.pods):] {
		if info := l.node(d.At.Node); info != nil {
			l.planned.add(d, info)
		}
	}
	l.planned.pods = pods
}

// begins reports whether another plan starts with all pods of this one.
func (p *planned) begins(pods []sched.Decision) bool {
	n := len(p.pods)
	if n == 0 || n > len(pods) {
		return n == 0 && p.nodes != nil
	}
	last, same := p.pods[n-1], pods[n-1]
	return last.Pod == same.Pod && last.At.Node == same.At.Node
}

// on returns a node's info with the pods that are planned there, if any.
func (p *planned) on(node string, info *nodeInfo) *nodeInfo {
	if with := p.nodes[node]; with != nil {
		return with
	}
	return info
}

func (p *planned) add(d sched.Decision, to *nodeInfo) {
	pod := d.Pod.Foreign.(*Pod).info
	p.uids[pod.Pod.UID], p.nodes[d.At.Node] = true, withPod(to, pod)
	p.terms.count(d.At.Node, pod.RequiredAntiAffinityTerms, 1)
}

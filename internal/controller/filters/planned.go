package filters

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/sched"
)

// planned has pods that the filters of one proposer count in addition to the pods of the cluster:
// the pods of a gang, or of another group, that are planned one after another. Their volumes and
// devices are not planned.
type planned struct {
	pods    []sched.Decision
	uids    map[types.UID]bool   // UIDs of the pods
	nodes   map[string]*nodeInfo // nodeInfos to which planned pods are added, by node name
	terms   *terms               // required anti-affinity terms of the planned pods
	counted map[string]*counted  // counts that later pods of the plan may reuse, by lister.alike
}

// Plan makes the filters count the given pods on their planned nodes, in place of those of the
// previous plan. If the given pods begin with all pods of the previous plan, only the new ones take
// time.
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

// begins reports whether a new plan begins with all pods of this plan. It compares only the last
// pod of this plan.
func (p *planned) begins(pods []sched.Decision) bool {
	n := len(p.pods)
	if n == 0 || n > len(pods) {
		return n == 0 && p.nodes != nil
	}
	last, same := p.pods[n-1], pods[n-1]
	return last.Pod == same.Pod && last.At.Node == same.At.Node
}

// on returns the nodeInfo with the pods that are planned on the node. It returns info if there are
// none.
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

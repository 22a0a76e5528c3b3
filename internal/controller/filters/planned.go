package filters

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/sched"
)

// planned has pods that the filters of one proposer count in addition to the placed pods of the
// cluster. These pods belong to a gang, or to another group of pods that are planned one after
// another. Their volumes and devices are not planned.
type planned struct {
	pods    []sched.Decision
	uids    map[types.UID]bool   // UIDs of the pods
	nodes   map[string]*nodeInfo // by node name, for each node with planned pods: the nodeInfo that it had when Plan was called, plus these pods
	terms   *terms               // required anti-affinity terms of the planned pods
	counted map[string]*counted  // states of the plugin InterPodAffinity that pods planned later may reuse, by the key that lister.alike returns
}

// Plan makes the filters count the given pods on their planned nodes. The given pods replace the
// pods of the previous call of Plan. If the list begins with all pods of the previous call, Plan
// takes time only for the rest of the list.
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

// begins reports whether the list given as `pods` begins with all pods of p. To save time, it
// compares only the last pod of p with the pod at the same place in the list.
func (p *planned) begins(pods []sched.Decision) bool {
	n := len(p.pods)
	if n == 0 || n > len(pods) {
		return n == 0 && p.nodes != nil
	}
	last, same := p.pods[n-1], pods[n-1]
	return last.Pod == same.Pod && last.At.Node == same.At.Node
}

// The method `on` returns the nodeInfo of a node with the pods that are planned on the node. If no
// pods are planned on the node, it returns the nodeInfo given as `info`.
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

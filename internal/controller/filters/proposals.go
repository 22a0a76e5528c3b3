package filters

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// proposals are pods for which a proposer has chosen a node a moment ago, and which the committer
// has not assigned yet. A proposer is a goroutine that lists the best nodes for a pod. The
// committer is the goroutine that assigns pods to nodes. Until a proposed pod is assigned, ratings
// of nodes for other pods count it on its chosen node. Without proposals, several proposers that
// rate nodes at the same time would choose the same node for pods that prefer to be apart.
// kube-scheduler handles one pod at a time, so it needs no proposals.
//
// A proposal is a guess, because the pod may get another node, or none. So proposals affect only
// ratings, and never exclude a node.
type proposals struct {
	turn sync.Mutex   // held while nodes are rated for a pod whose preference depends on other pods
	some atomic.Int32 // number of proposals: written under the lock, read without it
	mu   struct {
		sync.Mutex
		recent []proposal // oldest first
	}
}

type proposal struct {
	pod   *framework.PodInfo
	node  string
	until time.Time
}

// A proposal counts for proposalTerm at most, and only the newest maxProposals count. maxProposals
// is enough for about 20 proposers (the default is 4): for each proposer, at most about three pods
// at a time have a proposal. Two of them wait in the queue of the committer, and the proposer works
// on the third.
const (
	proposalTerm = 5 * time.Second
	maxProposals = 64
)

// add adds a proposal: a pod and its chosen node. It replaces an older proposal for the same pod.
func (p *proposals) add(pod *framework.PodInfo, node string) {
	p.remove(pod)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.recent) == maxProposals {
		p.mu.recent = slices.Delete(p.mu.recent, 0, 1)
	}
	p.mu.recent = append(p.mu.recent, proposal{pod, node, time.Now().Add(proposalTerm)})
	p.some.Store(int32(len(p.mu.recent)))
}

// remove removes the proposal for a pod, for example because the pod is assigned now.
func (p *proposals) remove(pod *framework.PodInfo) {
	if p.some.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.recent = slices.DeleteFunc(p.mu.recent, func(one proposal) bool { return one.pod.Pod.UID == pod.Pod.UID })
	p.some.Store(int32(len(p.mu.recent)))
}

// The method `beside` returns the proposed pods that must count when nodes are rated for the given
// pod, by the name of the proposed node. It leaves out the given pod itself. It also leaves out the
// pods whose UIDs are in the parameter `planned`. The proposer plans these pods together with the
// given pod, for example because they are in the same gang (see the type `planned`). The ratings
// already count them on their planned nodes.
func (p *proposals) beside(pod *framework.PodInfo, planned map[types.UID]bool) map[string][]*framework.PodInfo {
	if p.some.Load() == 0 {
		return nil
	}
	p.remove(pod)
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.recent = slices.DeleteFunc(p.mu.recent, func(one proposal) bool { return now.After(one.until) })
	p.some.Store(int32(len(p.mu.recent)))
	found := map[string][]*framework.PodInfo{}
	for _, one := range p.mu.recent {
		if !planned[one.pod.Pod.UID] {
			found[one.node] = append(found[one.node], one.pod)
		}
	}
	return found
}

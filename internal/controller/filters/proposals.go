package filters

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// proposals are the pods that were proposed for a node a moment ago and are not assigned yet.
// Ratings count them. Otherwise, pods that prefer to be apart would all prefer the same node, if
// several proposers rate nodes for them at the same time. kube-scheduler does not need this,
// because it handles one pod at a time.
//
// It is a guess: a pod may get another node, or none. Nothing but ratings depends on it.
type proposals struct {
	turn sync.Mutex   // held while pods that prefer to be near or apart from others are rated
	some atomic.Int32 // number of proposals: written under the lock, read before it is taken
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

// A proposal counts for proposalTerm at most, and only the latest maxProposals count. About three
// for each proposer are on their way to the committer.
const (
	proposalTerm = 5 * time.Second
	maxProposals = 64
)

// add adds a proposal, and removes an older one for the same pod.
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

// remove removes the proposal for a pod that is assigned now.
func (p *proposals) remove(pod *framework.PodInfo) {
	if p.some.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.recent = slices.DeleteFunc(p.mu.recent, func(one proposal) bool { return one.pod.Pod.UID == pod.Pod.UID })
	p.some.Store(int32(len(p.mu.recent)))
}

// beside returns the other proposed pods that count in the ratings for a pod, by node. It leaves
// out pods that are planned on their node, because these count anyway.
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

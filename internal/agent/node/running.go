package node

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// Running is a container with exclusive CPUs. The container runtime lists it: it may run, but it may
// also have exited or not have started.
type Running struct {
	workload.Container
	CPUs cpuset.Set // the container's CPUs that are online
}

// Running returns the containers that hold exclusive CPUs and that the container runtime lists,
// ordered by ID.
func (n *Node) Running() []Running {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Running
	for _, p := range n.mu.pods {
		for _, c := range p.containers {
			if d := n.decide(c); d.Exclusive {
				all = append(all, Running{c, d.CPUs})
			}
		}
	}
	slices.SortFunc(all, func(a, b Running) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

package nodestate

import (
	"slices"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// capacity is an index of the nodes by what they would have free without any pod. It has the
// amounts of whole nodes, such as CPU and memory, by which the default profile (the first argument
// of New) sorts nodes (Profile.Space). The amounts of one profile suffice. Without the amounts that
// only other profiles have, CouldHold may return true for a pod that no node could hold. This is
// allowed. The opposite error is not allowed, and never happens: CouldHold does not return false
// for a pod that a node could hold. The index leaves out amounts of NUMA nodes and of single GPUs,
// because a record may lack NUMA nodes and GPUs for a while, for example while the node's agent
// restarts.
type capacity struct {
	space filter.Space
	index *distbucket.Index // written under the state's lock
	view  atomic.Pointer[distbucket.View]
}

func newCapacity(space filter.Space) (*capacity, error) {
	c := &capacity{space: space.Amounts()}
	theta := make(distbucket.Vector, len(c.space))
	for i := range theta {
		theta[i] = 1
	}
	if len(theta) == 0 {
		return c, nil
	}
	var err error
	c.index, err = distbucket.New(distbucket.Config{Theta: theta})
	return c, err
}

// set adds a node to the index, or changes its amounts there. The caller must hold the state's lock.
func (c *capacity) set(name string, allocatable sched.Amounts) {
	if c.index == nil {
		return
	}
	node := distbucket.Node{Name: name, Free: c.space.Node(&sched.Node{Free: allocatable})}
	switch known := c.index.Handle(name); {
	case known == nil:
		must(c.index.Add(node))
	case slices.Equal(known.Node().Free, node.Free):
		return
	default:
		must(c.index.Update(node))
	}
	c.publish()
}

// remove removes a node from the index. The caller must hold the state's lock.
func (c *capacity) remove(name string) {
	if c.index != nil {
		must(c.index.Remove(name))
		c.publish()
	}
}

func (c *capacity) publish() {
	view := c.index.View()
	c.view.Store(&view)
}

// CouldHold reports whether some node might hold a pod if no other pod were on the node. It
// compares the pod's requests with the allocatable amounts in the index s.capacity. It takes no
// lock.
func (s *State) CouldHold(pod *sched.Pod) bool {
	view := s.capacity.view.Load()
	if view == nil {
		return s.capacity.index == nil // without an index, no amounts can be compared, so a node might hold the pod; an index has no view if no node was ever added, so no node can hold the pod
	}
	return len(view.AppendPick(nil, distbucket.Query{Request: s.capacity.space.Pod(pod), Policy: distbucket.FirstFit}, 1)) > 0
}

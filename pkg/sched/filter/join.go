package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// joins reports whether a pod may have containers whose CPUs and cards have to be on
// one NUMA node: by the policy single. By others the cards are only chosen near.
func joins(pod *sched.Pod) bool {
	return pod.CPUPolicy == podspec.Single && len(pod.Exclusive) > 0 && len(pod.GPUs.Wants) > 0
}

// joined reports whether the cards to choose from suffice beside the CPUs of what is
// seated so far: on each NUMA node there are as many as have to be there. A card of
// which nobody tells where it is counts for none, unless there is but one. Where
// nobody tells the node's cards apart they are not chosen here, nor joined.
func (s *seating) joined() bool {
	if len(s.hand.cards) == 0 || s.hand.cards[0].ID == "" || !joins(s.pod) {
		return true
	}
	homes, agree := s.homes()
	if !agree {
		return false
	}
	for _, on := range s.node.NUMA {
		need := 0
		for _, home := range homes {
			if home == on.ID {
				need++
			}
		}
		if need > s.cardsOn(on.ID) {
			return false
		}
	}
	return true
}

// homes returns the NUMA node that each of the pod's cards has to be on, Unknown for
// any, and false where two containers that get the same card, one after the other,
// are on different ones.
func (s *seating) homes() (homes []topology.NodeID, agree bool) {
	homes = slices.Repeat([]topology.NodeID{topology.Unknown}, s.pod.GPUs.Count)
	for _, span := range s.pod.GPUs.Spans() {
		home := s.home(span.Container)
		if home == topology.Unknown {
			continue
		}
		for i := span.First; i < min(span.First+span.Count, len(homes)); i++ {
			if homes[i] != topology.Unknown && homes[i] != home {
				return nil, false
			}
			homes[i] = home
		}
	}
	return homes, true
}

// home returns the NUMA node of a container that is seated on one by its policy, else
// Unknown.
func (s *seating) home(container string) topology.NodeID {
	for c, want := range s.pod.Exclusive {
		if want.Name == container && want.PerNode == nil && s.counts[c] != nil {
			return s.node.NUMA[slices.Index(s.counts[c], want.CPUs)].ID
		}
	}
	return topology.Unknown
}

func (s *seating) cardsOn(node topology.NodeID) int {
	n := 0
	for _, card := range s.hand.cards {
		if card.NUMA == node || card.NUMA == topology.Unknown && len(s.node.NUMA) == 1 {
			n++
		}
	}
	return n
}

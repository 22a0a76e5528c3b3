package reservation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// AssignedPod is a pod on a node, and when it ends.
type AssignedPod struct {
	UID string
	sched.Holding
	Ends time.Time // zero where nobody knows
}

// AssignedPods returns the pods that have their place on a node; ends says when one ends.
func AssignedPods(c *nodestate.State, node string, ends func(uid string) time.Time) []AssignedPod {
	var guests []AssignedPod
	for _, a := range c.Assignments(node) {
		guests = append(guests, AssignedPod{a.UID, a.Holding, ends(a.UID)})
	}
	return guests
}

// Offer is when a node will suit a pod, and what is to be held back there until
// then.
type Offer struct {
	Node string
	sched.Holding
	InTheWay []AssignedPod
	Ready    time.Time // when the last of those with a known end ends; zero if none is in the way
	Unknown  int       // guests in the way of whom nobody knows the end
}

// Compare is negative where a is to be preferred to b: fewer guests without a known
// end are in the way; then those that have one end sooner; then by name.
func (a Offer) Compare(b Offer) int {
	return cmp.Or(cmp.Compare(a.Unknown, b.Unknown), a.Ready.Compare(b.Ready), strings.Compare(a.Node, b.Node))
}

// On returns what a node offers a pod, and false where the pod would not fit even if
// all guests were gone, or another pod has the node's reservation. AssignedPods with a
// known end leave in the order of those, then the others, the largest first; who has
// left in vain counts for nothing. It costs O(guests) placements.
func On(pod *sched.Pod, node *sched.Node, guests []AssignedPod) (Offer, bool) {
	if node.Reserved != nil && node.Reserved.UID != pod.Claim() {
		return Offer{}, false
	}
	leaving := slices.SortedFunc(slices.Values(guests), sooner)
	left := 0
	for filter.Check(pod, node).Refuses() {
		if left == len(leaving) {
			return Offer{}, false
		}
		node = node.Return(leaving[left].Holding)
		left++
	}
	inTheWay, node := needed(pod, node, leaving[:left])
	at, _ := filter.Place(pod, node)
	o := Offer{Node: node.Name, Holding: sched.Hold(pod, at), InTheWay: inTheWay}
	for _, g := range inTheWay {
		if g.Ends.IsZero() {
			o.Unknown++
		}
		if g.Ends.After(o.Ready) {
			o.Ready = g.Ends
		}
	}
	return o, true
}

// needed returns those who have to leave for the pod to fit, the last that left
// among them, and the node without those.
func needed(pod *sched.Pod, node *sched.Node, left []AssignedPod) ([]AssignedPod, *sched.Node) {
	var needed []AssignedPod
	for _, g := range left {
		with := node.Take(g.Holding)
		if filter.Check(pod, with).Refuses() {
			needed = append(needed, g)
			continue
		}
		node = with
	}
	return needed, node
}

// sooner orders guests as they leave.
func sooner(a, b AssignedPod) int {
	switch unknown := a.Ends.IsZero(); {
	case unknown != b.Ends.IsZero() && unknown:
		return 1
	case unknown != b.Ends.IsZero():
		return -1
	}
	return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(cards(b), cards(a)), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory))
}

func cards(g AssignedPod) (sum sched.MilliGPU) {
	for _, share := range g.GPUs {
		sum += share.Milli
	}
	return sum
}

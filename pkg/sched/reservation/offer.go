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

// AssignedPod is a pod on a node: the resources that the pod holds, and the time when it ends.
type AssignedPod struct {
	UID string
	sched.Holding
	Ends time.Time // zero if unknown
}

// AssignedPods returns the pods that are assigned to a node. The function in the parameter `ends`
// returns when a pod ends, or zero if that is unknown.
func AssignedPods(state *nodestate.State, node string, ends func(uid string) time.Time) []AssignedPod {
	var pods []AssignedPod
	for _, a := range state.Assignments(node) {
		pods = append(pods, AssignedPod{a.UID, a.Holding, ends(a.UID)})
	}
	return pods
}

// Offer describes when a pod will fit a node, and what to reserve for the pod on the node until
// then.
type Offer struct {
	Node string
	sched.Holding
	InTheWay []AssignedPod // the assigned pods that must end before the pod fits
	Ready    time.Time     // the latest known end of the pods in InTheWay; zero if no end is known
	Unknown  int           // number of pods in InTheWay whose end is unknown
}

// Compare returns a negative number if a is better than b. The better offer has fewer pods in
// InTheWay whose end is unknown. If these numbers are equal, the better offer has the earlier
// Ready. If both are equal, the better offer has the node whose name comes first.
func (a Offer) Compare(b Offer) int {
	return cmp.Or(cmp.Compare(a.Unknown, b.Unknown), a.Ready.Compare(b.Ready), strings.Compare(a.Node, b.Node))
}

// The function On returns when a pod will fit a node, and what to reserve for the pod there. The
// argument `assigned` has the pods on the node. The function returns false if the pod would not fit
// even without the assigned pods, or if the node is reserved for another pod.
//
// On simulates that assigned pods are removed until the pod fits. It first removes assigned pods
// with a known end, in the order of their ends. Then it removes the pods whose end is unknown,
// those with the most GPUs first. Of pods with equally many GPUs, it removes those with the most
// CPUs first, and of pods that also have equally many CPUs, those with the most memory first. A pod
// whose removal turns out not to be needed is not in Offer.InTheWay. For n assigned pods, On calls
// filter.Check at most 2n+1 times to find out whether the pod fits.
func On(pod *sched.Pod, node *sched.Node, assigned []AssignedPod) (Offer, bool) {
	if node.Reserved != nil && node.Reserved.UID != pod.Claim() {
		return Offer{}, false
	}
	leaving := slices.SortedFunc(slices.Values(assigned), sooner)
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

// needed returns those assigned pods that must end before the pod fits. The parameter `left` has
// the assigned pods that were removed from the node, in the order of their removal. For each of
// them, the function checks whether the pod also fits if the assigned pod stays. If so, it puts the
// assigned pod back on the node. It also returns the node without the assigned pods that it did not
// put back.
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

// sooner compares two assigned pods. It defines the order in which the function `On` removes them.
func sooner(a, b AssignedPod) int {
	switch unknown := a.Ends.IsZero(); {
	case unknown != b.Ends.IsZero() && unknown:
		return 1
	case unknown != b.Ends.IsZero():
		return -1
	}
	return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(gpus(b), gpus(a)), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory))
}

func gpus(g AssignedPod) (sum sched.MilliGPU) {
	for _, share := range g.GPUs {
		sum += share.Milli
	}
	return sum
}

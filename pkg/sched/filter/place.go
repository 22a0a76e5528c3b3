package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Place says how a pod falls on a node now, or why it does not fit. What other
// pods have reserved there is not free to it. Equal input, equal placement.
func Place(pod *sched.Pod, node *sched.Node) (sched.Placement, sched.Reason) {
	node = node.For(pod.Claim())
	at := sched.Placement{Node: node.Name}
	if r := plain(pod, node); r.Refuses() {
		return at, r
	}
	hand, none := deal(pod.GPUs, node)
	containers, r := exclusive(pod, node, hand)
	switch {
	case r.Refuses():
		return at, r
	case none.Refuses():
		return at, none
	}
	at.Containers, at.GPUs, at.GPUGroup = containers, hand.choose(pod, node, containers), hand.group
	return at, sched.Reason{}
}

// Check says why a pod does not fit a node now. It is Place without a
// placement, and cheaper: which cards it would be is not looked for.
func Check(pod *sched.Pod, node *sched.Node) sched.Reason {
	node = node.For(pod.Claim())
	if r := plain(pod, node); r.Refuses() {
		return r
	}
	if !joins(pod) {
		if _, r := exclusive(pod, node, hand{}); r.Refuses() {
			return r
		}
		return lacks(pod.GPUs, node)
	}
	hand, none := deal(pod.GPUs, node)
	if _, r := exclusive(pod, node, hand); r.Refuses() {
		return r
	}
	return none
}

// plain compares names and plain amounts. What is not asked for is not
// compared: a node may have given away more than it has.
func plain(pod *sched.Pod, node *sched.Node) sched.Reason {
	ask, free := pod.Requests, node.Free
	switch {
	case pod.Candidates != nil && !slices.Contains(pod.Candidates, node.Name):
		return sched.Reason{Code: sched.NotCandidate}
	case pod.Avoid != nil && pod.Avoid(node.Name):
		return sched.Reason{Code: sched.Avoided}
	case ask.Pods > 0 && ask.Pods > free.Pods:
		return sched.Reason{Code: sched.Other, Detail: "Too many pods"}
	case ask.CPU > 0 && ask.CPU > free.CPU:
		return insufficient("cpu")
	case ask.Memory > 0 && ask.Memory > free.Memory:
		return insufficient("memory")
	}
	for name, amount := range ask.Extended.All() {
		if amount > 0 && amount > free.Extended.Of(name) {
			return insufficient(name)
		}
	}
	return sched.Reason{}
}

func insufficient(resource string) sched.Reason {
	return sched.Reason{Code: sched.Insufficient, Detail: resource}
}

// FitsAny reports whether a pod, or where it stands for a gang one of that, fits a node
// now.
func FitsAny(pod *sched.Pod, node *sched.Node) bool {
	pods, _ := pod.Together()
	return slices.ContainsFunc(pods, func(p *sched.Pod) bool { return !Check(p, node).Refuses() })
}

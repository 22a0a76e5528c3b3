package wakeindex

import (
	"math/bits"
	"strconv"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Index stores the unschedulable pods by their requests. It must be used by only one goroutine at a
// time.
//
// Index stores shapes (groups of pods that fit the same nodes) in a distbucket.Index. A
// distbucket.Index is made for nodes, and finds nodes with at least the requested amounts. Here,
// shapes take the place of nodes. A shape fits if it requests at most what a node has free, so the
// comparison must be reversed: each amount is replaced by its smallness, a number that is larger
// for a smaller amount. A search asks for all shapes for which the smallness of the request is at
// least the smallness of the node's free resources.
type Index struct {
	*Shapes
	space    filter.Space
	bySize   *distbucket.Index
	made     int      // number of shapes made so far; in bySize, this number is the name of the newest shape
	searches uint64   // number of searches so far
	found    []*shape // shapes that the current search has found
	size     distbucket.Vector
}

// New returns an empty index. A search compares the amounts that the parameter `space` defines,
// such as CPU and memory. The parameter `space` must define at least one amount. Each shape that
// the search finds is then checked exactly.
func New(space filter.Space) *Index {
	theta := make(distbucket.Vector, len(space))
	for i := range theta {
		theta[i] = 1
	}
	bySize, err := distbucket.New(distbucket.Config{Theta: theta})
	must(err)
	return &Index{Shapes: NewShapes(), space: space, bySize: bySize}
}

// Add adds a pod, whose UID must not be in the index.
func (x *Index) Add(pod *sched.Pod) {
	s, isNew := x.add(pod)
	if !isNew {
		return
	}
	x.made++
	must(x.bySize.AddAt(&s.handle, distbucket.Node{Name: strconv.Itoa(x.made), Free: x.least(pod), Record: s}))
}

// Remove removes a pod, if it is in the index.
func (x *Index) Remove(uid string) {
	if s, isLast := x.remove(uid); isLast {
		must(x.bySize.Remove(s.handle.Node().Name))
	}
}

// Helped returns the pods of the index that fit a node, in any order. It checks the node's
// resources (filter.Check), and the pod's own rules, such as its node selector (sched.Pod.Admits).
// It does not check the filters of other systems (sched.Filter), such as those for volumes. A gang
// counts as fitting if one of its members fits. A pod with exclusive CPUs counts as fitting, too,
// if more than a few attempts would be needed to find out whether it fits.
func (x *Index) Helped(node *sched.Node) (pods []*sched.Pod) {
	unreserved := node
	if node.Reserved != nil {
		whole := *node
		whole.Reserved = nil
		unreserved = &whole
	}
	for _, s := range x.covered(node) {
		if !fits(s.sample, unreserved) {
			continue
		}
		for _, pod := range s.pods {
			if node.Reserved == nil && pod.Avoid == nil || fits(pod, node) {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// covered returns the shapes that request no more than a node has free, for each amount in x.space.
// The function `smallness` rounds the amounts, so covered may also return shapes that request
// slightly more. What is reserved on the node counts as free, because it may be reserved for one of
// the pods. Helped then checks for each pod whether the pod may use what is reserved.
func (x *Index) covered(node *sched.Node) []*shape {
	x.searches++
	x.found = x.found[:0]
	x.size = x.space.AppendNode(x.size[:0], node)
	for d := range x.size {
		x.size[d] = smallness(x.size[d])
	}
	// The search passes each matching shape to x.collect, which keeps it and returns false. So the
	// search does not stop at the first matching shape.
	x.bySize.View().AppendPick(nil, distbucket.Query{Request: x.size, Accept: x.collect}, 1)
	return x.found
}

func (x *Index) collect(n *distbucket.Node) bool {
	if s := n.Record.(*shape); s.search != x.searches {
		s.search = x.searches
		x.found = append(x.found, s)
	}
	return false
}

// The method `least` returns, for each requested amount of a pod, a number that is larger for a
// smaller amount (see the function `smallness`). For a gang, it takes the smallest amount that any
// member requests.
func (x *Index) least(pod *sched.Pod) distbucket.Vector {
	pods, _ := pod.Together()
	at := make(distbucket.Vector, len(x.space))
	for _, p := range pods {
		for d, amount := range x.space.Pod(p) {
			at[d] = max(at[d], smallness(amount))
		}
	}
	return at
}

// smallness returns a number that is larger for a smaller amount:
//
//	request ≤ free ⇒ smallness(request) ≥ smallness(free)
//
// The result depends only on the leading bit of the amount and the eight bits after it, so amounts
// that differ by less than 0.4 % may have the same smallness.
//
// smallness does not simply negate the amount, or subtract it from a very large number. With such a
// number, a search of distbucket.Index would skip fewer shapes, which are groups of pods that fit
// the same nodes. To skip a set of shapes at once, the search looks at the largest smallness in the
// set. The index stores these largest numbers in a short floating-point format. In this format, all
// negative numbers are the same, and small differences between large numbers are rounded away.
func smallness(amount int64) int64 {
	const most = 64<<8 | 255
	if amount <= 0 {
		return most
	}
	n := bits.Len64(uint64(amount))
	return most - (int64(n)<<8 | int64(uint64(amount)<<(64-n)<<1>>(64-8)))
}

// must panics on an error of distbucket.Index. Such an error cannot occur: the index has at least
// one dimension, shapes have unique names, and vectors have one amount for each dimension.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

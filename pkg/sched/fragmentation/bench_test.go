package fragmentation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// BenchmarkDecision measures how much time this package needs for one decision, in a cluster that
// is half full. In each step, a pod of one of about 150 kinds is placed on the best node that fits,
// and a random pod ends. Pods with GPUs are also added to the learned workload, which says which
// requests are common. To judge a change of the code, compare ten runs before and after the change
// (-count 10) with golang.org/x/perf/cmd/benchstat.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{100, 1500, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := newCrowd(nodes)
			for range 4 * nodes {
				c.decide()
			}
			b.ReportAllocs()
			for b.Loop() {
				c.decide()
			}
		})
	}
}

// crowd is a cluster in which the method `decide` places and ends pods.
type crowd struct {
	*scene
	nodes   int
	running []sched.Decision
	made    int
}

func newCrowd(nodes int) *crowd {
	c := &crowd{scene: newScene(1), nodes: nodes}
	for i := range nodes {
		node := &sched.Node{Name: fmt.Sprint("n", i), Free: sched.Amounts{CPU: 96000, Memory: 393216, Pods: 200}}
		for g := range 8 {
			node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(g), Type: "G2", Free: sched.WholeGPU})
		}
		c.set(node)
	}
	return c
}

// decide places a pod, and ends a random pod if more than four pods per node run. Four pods on each
// node fill about half of the cluster.
func (c *crowd) decide() {
	c.made++
	pod := kindOfMany(c.r, fmt.Sprint("p", c.made))
	c.See(pod)
	for _, slot := range c.Best(nil, pod, 8) {
		if at, why := filter.Place(pod, slot.Newest()); !why.Refuses() {
			c.set(slot.Newest().Take(sched.Hold(pod, at)))
			c.running = append(c.running, sched.Decision{Pod: pod, At: at})
			break
		}
	}
	if len(c.running) > 4*c.nodes {
		i := c.r.IntN(len(c.running))
		d := c.running[i]
		c.set(c.slots[d.At.Node].Newest().Return(sched.Hold(d.Pod, d.At)))
		c.running[i] = c.running[len(c.running)-1]
		c.running = c.running[:len(c.running)-1]
		c.Forget(d.Pod.UID)
	}
}

// kindOfMany returns a random pod similar to those of Alibaba's openb trace, in which most pods
// request one GPU or a part of one.
func kindOfMany(r *rand.Rand, uid string) *sched.Pod {
	pod := &sched.Pod{UID: uid, Requests: sched.Amounts{CPU: sched.MilliCPU(2000 * (1 + r.IntN(6))), Memory: sched.Bytes(4096 * (1 + r.IntN(3))), Pods: 1}}
	switch pod.GPUs = (sched.GPURequest{Count: 1, Milli: 1000}); r.IntN(20) {
	case 0:
		pod.GPUs.Count = 2
	case 1:
		pod.GPUs.Count = 4
	case 2, 3:
		pod.GPUs = sched.GPURequest{}
	case 4, 5, 6, 7:
		pod.GPUs.Milli = []sched.MilliGPU{810, 470, 320, 650}[r.IntN(4)]
	}
	return pod
}

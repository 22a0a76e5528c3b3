package reservation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// TestOn compares the result of On with a search of all subsets of the assigned pods, whose ends
// are all known. A subset suffices if the pod fits after all assigned pods of the subset have
// ended. Offer.Ready must be the earliest time at which all pods of a subset that suffices have
// ended.
func TestOn(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	offers := 0
	for range 600 {
		node, assigned := inhabited(r)
		pod := schedtest.Pod(r, "pod")
		pod.UID = "pod"
		o, ok := reservation.On(pod, node, assigned)
		soonest, possible := dumb(pod, node, assigned)
		if ok != possible || ok && !o.Ready.Equal(soonest) {
			t.Fatalf("offer %v, %v; want ready %v, %v\npod %+v\nnode %+v\nassigned %+v", o, ok, soonest, possible, pod, node, assigned)
		}
		if ok {
			offers++
		}
	}
	if offers < 100 {
		t.Errorf("only %d pods had an offer", offers)
	}
}

// inhabited returns a node with assigned pods whose ends are all known.
func inhabited(r *rand.Rand) (*sched.Node, []reservation.AssignedPod) {
	node := schedtest.Node(r, "node")
	node.Reserved, node.Free = nil, node.Allocatable
	for i := range node.NUMA {
		node.NUMA[i].FreeCPUs, node.NUMA[i].FreeMemory = node.NUMA[i].CPUs/node.CoreWidth*node.CoreWidth, node.NUMA[i].Memory
	}
	for i := range node.GPUs {
		node.GPUs[i].Free = sched.WholeGPU
	}
	var assigned []reservation.AssignedPod
	for i := range 40 {
		pod := schedtest.Pod(r, fmt.Sprint(i))
		at, why := filter.Place(pod, node)
		if !why.Refuses() && len(assigned) < 6 {
			h := sched.Hold(pod, at)
			node = node.Take(h)
			assigned = append(assigned, reservation.AssignedPod{Holding: h, Ends: time.Unix(int64(1+r.IntN(5)), 0)})
		}
	}
	return node, assigned
}

// dumb returns the earliest time at which a pod fits a node. It returns false if the pod will never
// fit. dumb tries all subsets of the assigned pods, and finds those without which the pod fits. The
// result is the earliest time at which all pods of such a subset have ended.
func dumb(pod *sched.Pod, node *sched.Node, assigned []reservation.AssignedPod) (soonest time.Time, ok bool) {
	for set := range 1 << len(assigned) {
		left, ready := node, time.Time{}
		for i, g := range assigned {
			if set&(1<<i) != 0 {
				left = left.Return(g.Holding)
				if g.Ends.After(ready) {
					ready = g.Ends
				}
			}
		}
		if !filter.Check(pod, left).Refuses() && (!ok || ready.Before(soonest)) {
			soonest, ok = ready, true
		}
	}
	return soonest, ok
}

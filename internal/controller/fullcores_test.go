package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestFullCores checks a node that grants exclusive CPUs only as whole physical cores. Seven of
// its cores can be exclusive. So seven pods with one exclusive CPU each must be placed, and no
// more, although the node's allocatable CPUs would allow more.
func TestFullCores(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8, func(_ *corev1.Node, topology *v1alpha1.NodeTopology) {
		topology.Status.Machine.FullCores, topology.Status.Machine.ThreadsPerCore, topology.Status.Machine.ReservedCPUs = true, 2, "0,8"
		topology.Status.NUMA[0].Allocatable = 6
	})
	w.start()
	for i := range 8 {
		w.pod(fmt.Sprint("p", i), "1", "random")
	}
	w.await("seven pods are bound, and the eighth is told that it does not fit", func() bool {
		waiting := 0
		for i := range 8 {
			if w.unscheduled(fmt.Sprint("p", i)) != "" {
				waiting++
			}
		}
		return len(w.bound()) == 7 && waiting == 1
	})
}

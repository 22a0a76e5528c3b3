package mirror

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// named returns the whole GPUs that the agent of a node lists in the NodeTopology. It leaves out
// GPUs in MIG mode. In the result, all healthy GPUs are free, and all other GPUs are not. The device
// plugin lists a GPU as unhealthy also if its health is unknown, so the kubelet gives it to no pod.
func named(t *v1alpha1.NodeTopology) (gpus []sched.GPU) {
	for _, g := range whole(t) {
		device := sched.GPU{ID: g.ID, Type: cmp.Or(g.Type, gpu.TypeName(g.Model)), NUMA: topology.Unknown, Free: sched.WholeGPU}
		if g.NUMA != nil {
			device.NUMA = topology.NodeID(*g.NUMA)
		}
		if g.Health != gpu.Healthy.String() {
			device.Free = 0
		}
		gpus = append(gpus, device)
	}
	return gpus
}

// links returns the links between the whole GPUs that the agent of a node lists in the
// NodeTopology. It returns nil if the links that two GPUs list contradict each other.
func links(topology *v1alpha1.NodeTopology) gpu.Links {
	var rows [][]string
	for _, g := range whole(topology) {
		rows = append(rows, g.Links)
	}
	table, err := gpu.ReadLinks(rows)
	if err != nil {
		return nil
	}
	return table
}

// whole returns the whole GPUs that a NodeTopology lists, without parts of GPUs such as MIG slices.
func whole(topology *v1alpha1.NodeTopology) (gpus []v1alpha1.GPU) {
	if topology == nil {
		return nil
	}
	for _, g := range topology.Status.GPUs {
		if g.Form == gpu.Physical.String() {
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// nameless returns n GPUs without IDs. They stand for the GPUs of a node whose agent lists no GPUs.
func nameless(model string, n int64) []sched.GPU {
	if n <= 0 {
		return nil
	}
	return slices.Repeat([]sched.GPU{{Type: model, NUMA: topology.Unknown, Free: sched.WholeGPU}}, int(n))
}

// MaxGPUs is the largest number of whole GPUs that a node may report. Most machines have at most 16
// GPUs, but fabrics of PCIe switches attach a few dozen GPUs to a machine. The limit protects the
// controller from wrong reports of kubelets: each GPU takes memory in every record of the node.
const MaxGPUs = 1024

// checkGPUs returns an error if a node reports more GPUs than MaxGPUs. The report must then be
// wrong, so none of the node's GPUs is given to pods.
func checkGPUs(node *corev1.Node, topology *v1alpha1.NodeTopology, gpus string) error {
	n := v1alpha1.Amount(node.Status.Allocatable[corev1.ResourceName(gpus)])
	if n = max(n, int64(len(whole(topology)))); n > MaxGPUs {
		return fmt.Errorf("node %s reports %d of %s, and a node may have at most %d: none of them is given to pods; repair its device plugin", node.Name, n, gpus, MaxGPUs)
	}
	return nil
}

package node

import (
	"cmp"
	"maps"
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// ReportGPUs adds the GPUs of the inventory v to r, the status of the NodeTopology. It adds what
// containers can get: whole GPUs, and the slices of GPUs in MIG mode.
func ReportGPUs(r *v1alpha1.NodeTopologyStatus, v *gpu.Inventory) {
	r.Machine.GPUs, r.Machine.GPUDriver, r.Machine.CUDA = int32(len(v.GPUs)), v.Driver, v.CUDA
	for _, u := range v.Units() {
		r.GPUs = append(r.GPUs, describeGPU(v, u))
	}
}

func describeGPU(v *gpu.Inventory, u gpu.Unit) v1alpha1.GPU {
	device := &v.GPUs[u.GPU]
	out := v1alpha1.GPU{
		ID: u.ID, Index: int32(device.Index), Model: device.Model, Type: u.Type, Form: u.Form.String(),
		Memory: bytes(u.MemoryBytes), BusID: string(device.PCI),
		Health: u.Health.State.String(), Message: u.Health.Reason,
	}
	if device.NUMA != topology.Unknown {
		id := int32(device.NUMA)
		out.NUMA = &id
	}
	if u.Form == gpu.Virtual {
		out.Parent = device.UUID
		return out
	}
	out.Links = v.Links.Row(u.GPU)
	return out
}

// GPUHolders returns the pods whose containers were created with GPUs, ordered by UID. A pod holds
// the GPUs of all of its containers until the pod has ended, even the GPUs of init containers that
// have ended. The result lacks the GPUs of containers that had ended when the agent started. These
// GPUs are not free either, because the kubelet gives them to no other pod until the pod has ended.
// For a pod that it placed, numalet-controller knows the GPUs from the placement. But if another
// scheduler bound a pod, numalet-controller may choose the GPU of an ended init container
// of that pod for a new pod. The agent then rejects the placement of the new pod.
func (n *Node) GPUHolders() []v1alpha1.GPUHolder {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []v1alpha1.GPUHolder
	for uid, p := range n.mu.pods {
		if len(p.gpus) > 0 {
			all = append(all, v1alpha1.GPUHolder{UID: uid, Namespace: p.ref.Namespace, Name: p.ref.Name, Devices: slices.Sorted(maps.Keys(p.gpus))})
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.GPUHolder) int { return cmp.Compare(a.UID, b.UID) })
	return all
}

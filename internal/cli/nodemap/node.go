// Package nodemap prepares NodeTopologies for display: one node with the containers that hold its
// CPUs and GPUs, or an overview of many nodes.
package nodemap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/picture"
)

// Node has the content of a NodeTopology, in the form that package picture needs to draw the node.
type Node struct {
	Machine *topology.Machine
	GPUs    []gpu.GPU // nil if the node has no GPUs
	Use     *picture.Use
}

// Read converts a NodeTopology to a Node. An error says which field of the NodeTopology is invalid.
func Read(topology *v1alpha1.NodeTopology) (Node, error) {
	machine, err := machineOf(&topology.Status)
	if err != nil {
		return Node{}, err
	}
	use, err := useOf(&topology.Status)
	if err != nil {
		return Node{}, err
	}
	return Node{machine, GPUs(&topology.Status), use}, nil
}

// machineOf returns the machine that the status of a NodeTopology describes. The machine has no
// offline CPUs, because a NodeTopology does not list them. Older versions of the agent wrote
// NodeTopologies without a list of caches. For such a NodeTopology, the packages, caches and cores of
// the CPUs are unknown (see withoutCaches).
func machineOf(status *v1alpha1.NodeTopologyStatus) (*topology.Machine, error) {
	machine := &topology.Machine{}
	for _, numaNode := range status.NUMA {
		node, err := numaOf(numaNode)
		if err != nil {
			return nil, err
		}
		machine.Nodes = append(machine.Nodes, node)
	}
	if len(status.Caches) == 0 {
		machine.CPUs = topology.CPUsOf(withoutCaches(machine.Nodes))
		return machine, nil
	}
	caches, err := cachesOf(status.Caches)
	if err != nil {
		return nil, err
	}
	machine.CPUs = topology.CPUsOf(caches)
	return machine, nil
}

func numaOf(n v1alpha1.NUMANode) (topology.Node, error) {
	cpus, err := cpuset.Parse(n.CPUs)
	if err != nil {
		return topology.Node{}, fmt.Errorf("read CPUs of NUMA node %d: %w", n.ID, err)
	}
	node := topology.Node{ID: topology.NodeID(n.ID), CPUs: cpus}
	if n.Memory != nil {
		node.MemoryBytes = uint64(v1alpha1.Amount(*n.Memory))
	}
	if len(n.Distances) > 0 {
		node.Distances = map[topology.NodeID]int{}
	}
	for _, d := range n.Distances {
		node.Distances[topology.NodeID(d.ID)] = int(d.Value)
	}
	return node, nil
}

// withoutCaches returns the caches for a NodeTopology that does not list caches: one cache for each
// NUMA node, with all CPUs of the NUMA node. Each CPU counts as a core.
func withoutCaches(nodes []topology.Node) (caches []topology.Cache) {
	for _, node := range nodes {
		c := topology.Cache{ID: topology.Unknown, Package: topology.Unknown, NUMA: node.ID}
		for cpu := range node.CPUs.All() {
			c.Cores = append(c.Cores, cpuset.Of(cpu))
		}
		caches = append(caches, c)
	}
	return caches
}

func cachesOf(list []v1alpha1.Cache) (caches []topology.Cache, err error) {
	for _, c := range list {
		cache := topology.Cache{ID: cpuset.CPU(known(c.ID)), Package: known(c.Package), NUMA: topology.NodeID(known(c.NUMA))}
		for _, core := range c.Cores {
			cpus, err := cpuset.Parse(core)
			if err != nil {
				return nil, fmt.Errorf("read cores of a cache: %w", err)
			}
			cache.Cores = append(cache.Cores, cpus)
		}
		caches = append(caches, cache)
	}
	return caches, nil
}

// known returns the ID to which id points, or topology.Unknown if id is nil.
func known(id *int32) int {
	if id == nil {
		return topology.Unknown
	}
	return int(*id)
}

// useOf returns which containers hold the node's CPUs and GPUs. It counts all GPUs of a pod as held
// by the pod's first container that has exclusive CPUs, because a NodeTopology does not say which
// container of the pod has which GPU.
func useOf(status *v1alpha1.NodeTopologyStatus) (*picture.Use, error) {
	reserved, err := cpuset.Parse(status.Machine.ReservedCPUs)
	if err != nil {
		return nil, fmt.Errorf("read reserved CPUs: %w", err)
	}
	use := &picture.Use{Reserved: reserved}
	first := map[string]int{} // by the UID of a pod, the index in use.Held of the pod's first container
	for _, pod := range status.Pods {
		first[pod.UID] = len(use.Held)
		for _, container := range pod.Containers {
			cpus, err := cpuset.Parse(container.CPUs)
			if err != nil {
				return nil, fmt.Errorf("read CPUs of container %s of pod %s/%s: %w", container.Name, pod.Namespace, pod.Name, err)
			}
			use.Held = append(use.Held, picture.Holder{Name: pod.Namespace + "/" + pod.Name + " " + container.Name, CPUs: cpus})
		}
	}
	for _, pod := range status.GPUHolders {
		i, seen := first[pod.UID]
		if !seen {
			i = len(use.Held)
			use.Held = append(use.Held, picture.Holder{Name: pod.Namespace + "/" + pod.Name})
		}
		use.Held[i].GPUs = physical(pod.Devices, status.GPUs)
	}
	return use, nil
}

// physical returns the UUIDs of the physical GPUs to which the devices belong, without duplicates.
// A device is a GPU, or a MIG slice or share of a GPU.
func physical(devices []string, gpus []v1alpha1.GPU) (uuids []string) {
	for _, device := range devices {
		uuid := v1alpha1.GPUOf(device)
		if i := slices.IndexFunc(gpus, func(g v1alpha1.GPU) bool { return g.ID == uuid && g.Parent != "" }); i >= 0 {
			uuid = gpus[i].Parent
		}
		if !slices.Contains(uuids, uuid) {
			uuids = append(uuids, uuid)
		}
	}
	return uuids
}

// GPUs returns the physical GPUs of a node. For a GPU in MIG mode, a NodeTopology lists only the
// MIG slices. GPUs derives the physical GPU from its slices. The memory and health of this GPU are
// unknown, because the NodeTopology does not have them. A GPU in MIG mode without slices has no
// entry in the NodeTopology, but counts in the NodeTopology's number of physical GPUs. Such GPUs
// are the last ones of the result, and nothing else is known about them.
func GPUs(status *v1alpha1.NodeTopologyStatus) (gpus []gpu.GPU) {
	for _, g := range status.GPUs {
		if g.Parent == "" {
			whole := gpuOf(g, g.ID)
			whole.Health = healthOf(g)
			if g.Memory != nil {
				whole.MemoryBytes = uint64(v1alpha1.Amount(*g.Memory))
			}
			gpus = append(gpus, whole)
			continue
		}
		at := slices.IndexFunc(gpus, func(c gpu.GPU) bool { return c.UUID == g.Parent })
		if at < 0 {
			at = len(gpus)
			gpus = append(gpus, gpuOf(g, g.Parent))
			gpus[at].MIG = true
		}
		profile := strings.TrimPrefix(g.Type, gpu.SliceTypeName(g.Model, ""))
		gpus[at].Slices = append(gpus[at].Slices, gpu.Slice{UUID: g.ID, Profile: profile, Health: healthOf(g)})
	}
	for len(gpus) < int(status.Machine.GPUs) {
		gpus = append(gpus, gpu.GPU{MIG: true, Index: topology.Unknown, NUMA: topology.Unknown})
	}
	return gpus
}

// CountGPUs returns the number of physical GPUs of a node, and how many of these are free. A GPU is
// free if it is healthy, and no pod holds the GPU, a share of it or one of its MIG slices. A GPU in MIG
// mode is free if one of its slices is healthy. Without slices, it is not free, because pods cannot get
// anything of it.
func CountGPUs(status *v1alpha1.NodeTopologyStatus) (all, free int) {
	gpus, held := GPUs(status), HeldGPUs(status)
	for _, c := range gpus {
		if isHealthy(c) && !slices.Contains(held, c.UUID) {
			free++
		}
	}
	return len(gpus), free
}

func isHealthy(c gpu.GPU) bool {
	healthy := func(s gpu.Slice) bool { return s.Health.State == gpu.Healthy }
	return c.Health.State == gpu.Healthy || slices.ContainsFunc(c.Slices, healthy)
}

// gpuOf returns the physical GPU with this UUID, without its memory and health. The parameter `g`
// is the GPU or one of its slices.
func gpuOf(g v1alpha1.GPU, uuid string) gpu.GPU {
	return gpu.GPU{UUID: uuid, Index: int(g.Index), Model: g.Model, PCI: gpu.Address(g.BusID), NUMA: topology.NodeID(known(g.NUMA))}
}

// healthOf returns the health of a GPU or slice.
func healthOf(g v1alpha1.GPU) gpu.Health {
	for _, state := range []gpu.State{gpu.Healthy, gpu.Unhealthy} {
		if g.Health == state.String() {
			return gpu.Health{State: state, Reason: g.Message}
		}
	}
	return gpu.Health{Reason: g.Message}
}

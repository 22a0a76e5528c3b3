package kubelet

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubelet/config/v1beta1"

	"github.com/numalet/numalet/pkg/topology"
)

// evictionSignal is the key for the node's memory in the kubelet's setting evictionHard.
// defaultEviction is the kubelet's value for that key if evictionHard is not set.
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
const (
	evictionSignal  = "memory.available"
	defaultEviction = "100Mi"
)

// Memory says how much of a node's memory the kubelet's configuration reserves for the system.
type Memory struct {
	PerNode  map[topology.NodeID]uint64 // reservedMemory; empty if not set
	Bytes    uint64                     // systemReserved + kubeReserved
	Eviction string                     // evictionHard: a quantity, or a percentage of all memory; "" for none
}

// newMemory reads the memory settings of the kubelet's configuration.
func newMemory(kubeletConfig v1beta1.KubeletConfiguration) (m Memory, err error) {
	for key, reserved := range map[string]map[string]string{"systemReserved": kubeletConfig.SystemReserved, "kubeReserved": kubeletConfig.KubeReserved} {
		bytes, err := memoryBytes(reserved["memory"])
		if err != nil {
			return m, fmt.Errorf("%s.memory: %w", key, err)
		}
		m.Bytes += bytes
	}
	m.Eviction = kubeletConfig.EvictionHard[evictionSignal]
	if kubeletConfig.EvictionHard == nil {
		m.Eviction = defaultEviction
	}
	if _, err := m.eviction(0); err != nil {
		return m, fmt.Errorf("evictionHard %s: %w", evictionSignal, err)
	}
	for _, r := range kubeletConfig.ReservedMemory {
		if q, ok := r.Limits[corev1.ResourceMemory]; ok && q.Sign() > 0 {
			if m.PerNode == nil {
				m.PerNode = map[topology.NodeID]uint64{}
			}
			m.PerNode[topology.NodeID(r.NumaNode)] += uint64(q.Value())
		}
	}
	return m, nil
}

// ReservedMemory returns how many bytes of each NUMA node's memory are not for
// containers. If the kubelet's setting reservedMemory is set, the result has the numbers
// of this setting, which the kubelet's Memory Manager uses, too. Otherwise the sum of
// systemReserved, kubeReserved and evictionHard is divided equally among the NUMA nodes
// with CPUs and memory.
func ReservedMemory(config Config, machine *topology.Machine) map[topology.NodeID]uint64 {
	if len(config.Memory.PerNode) > 0 {
		return config.Memory.PerNode
	}
	var total uint64
	for _, numaNode := range machine.Nodes {
		total += numaNode.MemoryBytes
	}
	nodes := slices.DeleteFunc(slices.Clone(machine.Nodes), func(numaNode topology.Node) bool { return numaNode.MemoryBytes == 0 || numaNode.CPUs.Empty() })
	eviction, _ := config.Memory.eviction(total) // no error is possible: newMemory has parsed this value before
	reserved := map[topology.NodeID]uint64{}
	for _, node := range nodes {
		count := uint64(len(nodes))
		reserved[node.ID] = (config.Memory.Bytes + eviction + count - 1) / count
	}
	return reserved
}

// eviction returns the memory threshold of evictionHard in bytes. The argument `total` is the
// memory of the machine.
func (m Memory) eviction(total uint64) (uint64, error) {
	percent, isPercentage := strings.CutSuffix(m.Eviction, "%")
	if !isPercentage {
		return memoryBytes(m.Eviction)
	}
	value, err := strconv.ParseFloat(percent, 64)
	if err != nil || math.IsNaN(value) || value < 0 || value > 100 {
		return 0, fmt.Errorf("%q is not a percentage", m.Eviction)
	}
	return uint64(value / 100 * float64(total)), nil
}

func memoryBytes(text string) (uint64, error) {
	q, err := amount(text)
	return uint64(q.Value()), err
}

package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Limits of the kubelet's Topology Manager: its masks have 64 bits, and by default
// the kubelet does not start with more than 8 NUMA nodes.
// Source: k8s.io/kubernetes/pkg/kubelet/cm/topologymanager (bitmask, defaultMaxAllowableNUMANodes).
const (
	maxHintNode  topology.NodeID = 63
	maxHintNodes int             = 8
)

// count is the number of devices of one NUMA node: capacity = cpus,
// allocatable = cpus − reserved.
type count struct {
	cpus     int
	reserved int
	hint     bool // give the Topology Manager the NUMA node
}

// counts returns the counts of all NUMA nodes with online CPUs. Nodes with memory
// only are left out.
func counts(machine *topology.Machine, reserved cpuset.Set) map[topology.NodeID]count {
	hint := len(machine.Nodes) <= maxHintNodes
	for _, numaNode := range machine.Nodes {
		hint = hint && numaNode.ID <= maxHintNode
	}
	all := map[topology.NodeID]count{}
	for _, numaNode := range machine.Nodes {
		if !numaNode.CPUs.Empty() {
			all[numaNode.ID] = count{numaNode.CPUs.Len(), numaNode.CPUs.Intersect(reserved).Len(), hint}
		}
	}
	return all
}

// tokens returns the devices of a NUMA node. Tokens are anonymous: "numa1-cpu-3" is
// the fourth token of node 1, not CPU 3.
//
// The capacity is the number of tokens and allocatable that of the Healthy ones,
// so as many tokens are Unhealthy as CPUs are reserved. An allocated token is always listed and
// Healthy, because the kubelet does not admit a container again whose token is Unhealthy. If more
// tokens are allocated than there are allocatable CPUs now, all of them stay and none is free.
// Tokens that were Unhealthy stay so, because the kubelet may allocate any other at any moment.
func tokens(node topology.NodeID, n count, allocated map[string]bool, before []*pluginapi.Device) []*pluginapi.Device {
	free := freeTokens(node, n.cpus-len(allocated), allocated)
	preferUnhealthy(free, before)
	var devices []*pluginapi.Device
	for i, id := range free {
		devices = append(devices, newDevice(id, i >= n.reserved, node, n.hint))
	}
	for id := range allocated {
		devices = append(devices, newDevice(id, true, node, n.hint))
	}
	slices.SortFunc(devices, func(a, b *pluginapi.Device) int { return compareIDs(a.ID, b.ID) })
	return devices
}

// tokenPrefix returns the prefix of the IDs of a NUMA node's tokens, which no other
// plugin uses.
func tokenPrefix(node topology.NodeID) string { return fmt.Sprintf("numa%d-cpu-", node) }

// freeTokens returns the n lowest-numbered IDs that are not allocated, in
// descending order.
func freeTokens(node topology.NodeID, n int, allocated map[string]bool) []string {
	var ids []string
	for i := 0; len(ids) < n; i++ {
		if id := tokenPrefix(node) + strconv.Itoa(i); !allocated[id] {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	return ids
}

// preferUnhealthy moves the IDs that were Unhealthy to the front.
func preferUnhealthy(ids []string, before []*pluginapi.Device) {
	unhealthy := map[string]int{}
	for _, d := range before {
		if d.Health == pluginapi.Unhealthy {
			unhealthy[d.ID] = -1
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(unhealthy[a], unhealthy[b]) })
}

func newDevice(id string, healthy bool, node topology.NodeID, hint bool) *pluginapi.Device {
	d := &pluginapi.Device{ID: id, Health: pluginapi.Unhealthy}
	if healthy {
		d.Health = pluginapi.Healthy
	}
	if hint {
		d.Topology = &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: int64(node)}}}
	}
	return d
}

// compareIDs orders numa0-cpu-9 before numa0-cpu-10.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

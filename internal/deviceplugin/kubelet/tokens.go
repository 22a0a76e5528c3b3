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

// Limits of the kubelet's Topology Manager: its masks have 64 bits, and with
// more than 8 NUMA nodes it refuses to start unless told otherwise.
// Source: k8s.io/kubernetes/pkg/kubelet/cm/topologymanager (bitmask, defaultMaxAllowableNUMANodes).
const (
	maxHintNode  topology.NodeID = 63
	maxHintNodes int             = 8
)

// count is what the kubelet shall count on one NUMA node: capacity = cpus,
// allocatable = cpus − reserved.
type count struct {
	cpus     int
	reserved int
	hint     bool // tell the Topology Manager the NUMA node
}

// counts returns the NUMA nodes that have CPUs online, and how many. Nodes with
// memory only are left out.
func counts(m *topology.Machine, reserved cpuset.Set) map[topology.NodeID]count {
	hint := len(m.Nodes) <= maxHintNodes
	for _, n := range m.Nodes {
		hint = hint && n.ID <= maxHintNode
	}
	all := map[topology.NodeID]count{}
	for _, n := range m.Nodes {
		if !n.CPUs.Empty() {
			all[n.ID] = count{n.CPUs.Len(), n.CPUs.Intersect(reserved).Len(), hint}
		}
	}
	return all
}

// tokens lists what ListAndWatch tells the kubelet about a NUMA node. Tokens
// are anonymous: "numa1-cpu-3" is the fourth of node 1, not CPU 3.
//
// Capacity counts all tokens and allocatable the Healthy ones, so the reserved
// ones are Unhealthy. Which ones is free to choose, and an allocated token is
// never among them, nor is it ever missing: the kubelet refuses to re-admit a
// container whose token is not Healthy. Where more tokens are allocated than
// there now are CPUs to allocate, all of them stay and nothing is free. Tokens
// that were Unhealthy before stay so, for the kubelet may hand out any other.
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

// tokenPrefix starts the ids of a NUMA node's tokens: no other plugin's do.
func tokenPrefix(node topology.NodeID) string { return fmt.Sprintf("numa%d-cpu-", node) }

// freeTokens returns the n lowest-numbered ids that are not allocated, the
// highest first.
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

// preferUnhealthy moves the ids that were Unhealthy to the front.
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

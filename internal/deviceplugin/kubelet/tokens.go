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

// These are limits of the kubelet's Topology Manager. maxHintNode is the largest ID of a NUMA node
// that fits into its bit masks, which have 64 bits. maxHintNodes is the largest number of NUMA
// nodes that the Topology Manager supports by default.
// Source: k8s.io/kubernetes/pkg/kubelet/cm/topologymanager (bitmask, defaultMaxAllowableNUMANodes).
const (
	maxHintNode  topology.NodeID = 63
	maxHintNodes int             = 8
)

// count has the number of online CPUs of one NUMA node, and how many of these are reserved. The
// resource of the NUMA node has the capacity `cpus`, and the allocatable amount `cpus` −
// `reserved`.
type count struct {
	cpus     int
	reserved int
	hint     bool // whether the device plugin tells the kubelet the NUMA node of the devices, for its Topology Manager
}

// counts returns, for each NUMA node with online CPUs, how many CPUs it has and how many of them are
// reserved.
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

// tokens returns the devices of a NUMA node, which are called tokens. A token does not stand for a
// certain CPU: "numa1-cpu-3" is the fourth token of NUMA node 1, not CPU 3.
//
// The kubelet reports the number of tokens as capacity and the number of Healthy tokens as
// allocatable. So the number of Unhealthy tokens must be the number of reserved CPUs. An allocated
// token is always listed and Healthy, because the kubelet may admit the token's pod a second time,
// for example after a reboot, and rejects a pod with an Unhealthy token. If more tokens are
// allocated than CPUs are allocatable now, for example because CPUs went offline, the allocated
// tokens stay Healthy, and all other tokens are Unhealthy. The kubelet may be allocating any of the
// Healthy tokens at this moment. So, if possible, the tokens that were Healthy before stay Healthy.
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

// tokenPrefix returns the prefix of the device IDs of a NUMA node's tokens. No other device plugin
// uses this prefix.
func tokenPrefix(node topology.NodeID) string { return fmt.Sprintf("numa%d-cpu-", node) }

// freeTokens returns the n lowest-numbered token IDs of a NUMA node that are not allocated, in
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

// preferUnhealthy moves the IDs of tokens that were Unhealthy in the previous list to the front.
// The caller makes the first tokens Unhealthy, so the tokens that were Healthy stay Healthy if
// possible.
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

// compareIDs compares device IDs so that numa0-cpu-9 comes before numa0-cpu-10.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

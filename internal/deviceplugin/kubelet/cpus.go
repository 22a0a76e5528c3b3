package kubelet

import (
	"fmt"
	"slices"
	"strings"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// CPUs is the Source of exclusive CPUs: it lists and allocates them for the Publisher. It publishes
// one resource for each NUMA node that has CPUs. The capacity of the resource is the number of
// online CPUs. The allocatable amount of the resource is the number of online CPUs that are not
// reserved.
type CPUs struct {
	Reserved cpuset.Set                        // CPUs that never become exclusive
	Discover func() (*topology.Machine, error) // reads the machine

	nodes map[string]topology.NodeID // all NUMA nodes that the method `list` has returned so far, by resource name
}

func (c *CPUs) list(before previous) (map[string][]*pluginapi.Device, error) {
	m, err := c.Discover()
	if err != nil {
		return nil, fmt.Errorf("discover the machine: %w", err)
	}
	all := counts(m, c.Reserved)
	if c.nodes == nil {
		c.nodes = map[string]topology.NodeID{}
	}
	for node := range all {
		c.nodes[v1alpha1.NUMAResource(node)] = node
	}
	devices := map[string][]*pluginapi.Device{}
	for resource, node := range c.nodes {
		devices[resource] = tokens(node, all[node], tokensOf(before.held(resource), node), before.devices(resource))
	}
	return devices, nil
}

// tokensOf returns the device IDs in ids that belong to the resource of a NUMA node. These devices
// are called tokens: each stands for one CPU of the NUMA node, but for no particular CPU.
func tokensOf(ids map[string]bool, node topology.NodeID) map[string]bool {
	own := map[string]bool{}
	for id := range ids {
		if isToken(id, node) {
			own[id] = true
		}
	}
	return own
}

func (c *CPUs) owns(resource, id string) bool {
	node, isNUMA := v1alpha1.ParseNUMAResource(resource)
	return isNUMA && isToken(id, node)
}

// isToken reports whether a device ID belongs to a token of a NUMA node. It is false
// for devices of other device plugins.
func isToken(id string, node topology.NodeID) bool { return strings.HasPrefix(id, tokenPrefix(node)) }

// allocate returns the annotation that lists the container's tokens. From the number
// of tokens, the agent learns how many CPUs of this NUMA node the container gets.
func (c *CPUs) allocate(resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	node, _ := v1alpha1.ParseNUMAResource(resource)
	ids = slices.SortedFunc(slices.Values(ids), compareIDs)
	return &pluginapi.ContainerAllocateResponse{
		Annotations: map[string]string{v1alpha1.AllocatedAnnotation(node): strings.Join(ids, ",")},
	}, nil
}

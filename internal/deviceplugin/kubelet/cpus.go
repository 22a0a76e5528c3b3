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

// CPUs is the Source of exclusive CPUs: one resource per NUMA node with CPUs.
// Its capacity is the number of online CPUs, its allocatable that without the
// reserved ones.
type CPUs struct {
	Reserved cpuset.Set                        // never exclusive
	Discover func() (*topology.Machine, error) // reads the machine

	nodes map[string]topology.NodeID // ever listed, by resource
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

// tokensOf returns the IDs that are tokens of a NUMA node.
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

// isToken reports whether a device is a token of a NUMA node, not a device of
// another plugin.
func isToken(id string, node topology.NodeID) bool { return strings.HasPrefix(id, tokenPrefix(node)) }

// allocate returns the annotation with the container's tokens, from which the
// agent reads the number of CPUs of this NUMA node.
func (c *CPUs) allocate(resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	node, _ := v1alpha1.ParseNUMAResource(resource)
	ids = slices.SortedFunc(slices.Values(ids), compareIDs)
	return &pluginapi.ContainerAllocateResponse{
		Annotations: map[string]string{v1alpha1.AllocatedAnnotation(node): strings.Join(ids, ",")},
	}, nil
}

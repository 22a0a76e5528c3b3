package e2eutil

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
)

// Placement returns how many CPUs of each NUMA node the controller chose for each container of a
// pod. The map is empty if the controller chose nothing.
func Placement(pod *corev1.Pod) (map[string]map[topology.NodeID]int, error) {
	text, ok := pod.Annotations[v1alpha1.AnnotationPlacement]
	if !ok {
		return nil, nil
	}
	decided, err := v1alpha1.ParsePlacement(text)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	counts := map[string]map[topology.NodeID]int{}
	for name, container := range decided.Containers {
		counts[name] = container.CPUs
	}
	return counts, nil
}

// Topology reads the NodeTopology of a node. The node's agent publishes the NUMA nodes and CPUs
// there.
func (c *Cluster) Topology(ctx context.Context, node string) (*v1alpha1.NodeTopology, error) {
	body, err := c.API.CoreV1().RESTClient().Get().AbsPath(topologies, node).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read NodeTopology %s: %w", node, err)
	}
	topology := &v1alpha1.NodeTopology{}
	return topology, json.Unmarshal(body, topology)
}

const topologies = "/apis/" + v1alpha1.Group + "/v1alpha1/nodetopologies"

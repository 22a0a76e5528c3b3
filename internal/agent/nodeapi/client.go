package nodeapi

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/internal/platform/kubeapi"
)

// Component is the agent's name in events, field managers and requests.
const Component = "numalet-agent"

// qps limits the requests per second that the agent sends to the API server, and burst how many it
// may send at once. Normally these are one watch, events of refused pods and a label of the node.
// The limit is for a node with many refused pods, which must not overload the API server.
const (
	qps   = 20
	burst = 40
)

func traffic() kubeapi.Traffic {
	return kubeapi.Traffic{UserAgent: Component, QPS: qps, Burst: burst}
}

// NewClient returns a client for the cluster of a kubeconfig file. If the path is empty, it is the
// cluster in which this pod runs.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := kubeapi.NewConfig(kubeconfig, traffic())
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	return client, nil
}

// NewResources returns a client for custom resources of the cluster that NewClient would use.
func NewResources(kubeconfig string) (dynamic.Interface, error) {
	config, err := kubeapi.NewJSONConfig(kubeconfig, traffic())
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for custom resources of %s: %w", config.Host, err)
	}
	return client, nil
}

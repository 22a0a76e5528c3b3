package nodeapi

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/internal/platform/kubeapi"
)

// Component is the agent's name in events and requests, and as a field manager.
const Component = "numalet-agent"

// qps is how many requests per second a client of the agent may send to the API server, and burst
// is how many requests it may send at once. Normally the agent sends far fewer requests. With the
// limits, a node with many refused pods cannot overload the API server.
const (
	qps   = 20
	burst = 40
)

func traffic() kubeapi.Traffic {
	return kubeapi.Traffic{UserAgent: Component, QPS: qps, Burst: burst}
}

// NewRESTConfig returns the configuration of clients of the agent.
func NewRESTConfig(kubeconfig string) (*rest.Config, error) {
	return kubeapi.NewConfig(kubeconfig, traffic())
}

// NewClient returns a client for the cluster in a kubeconfig file. If the path of the file is
// empty, the client is for the cluster in which the agent's pod runs.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := NewRESTConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	return client, nil
}

// NewResources is like NewClient, but returns a client for custom resources.
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

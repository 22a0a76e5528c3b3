package nodeapi

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/internal/platform/kubeapi"
)

// Component is the agent's name in events, field managers and requests.
const Component = "numalet-agent"

// Rate limit in requests per second, and its burst. The traffic is one watch, the
// events of refused pods and a label; a node full of refused pods must not
// overload the API server.
const (
	qps   = 20
	burst = 40
)

func traffic() kubeapi.Traffic {
	return kubeapi.Traffic{UserAgent: Component, QPS: qps, Burst: burst}
}

// NewClient returns a client of the cluster of a kubeconfig file, or, when the
// path is empty, of the cluster that this pod runs in.
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

// NewResources returns a client of the same cluster for custom resources.
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

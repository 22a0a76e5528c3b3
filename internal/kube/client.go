package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Component is the agent's name in events, field managers and requests.
const Component = "numalet-agent"

// Requests a second, and at once. One watch, events of refusals and a label
// make the traffic; a node full of refused pods must not press the API server.
const (
	qps   = 20
	burst = 40
)

// Traffic is who asks the API server, and how much at most.
type Traffic struct {
	UserAgent string
	QPS       float32 // negative: the caller has a limit of its own
	Burst     int
}

// NewConfig returns how to reach, in protobuf where there is some, the cluster
// that a kubeconfig file names, or, when the path is empty, the cluster that this
// pod runs in.
func NewConfig(kubeconfig string, t Traffic) (*rest.Config, error) {
	config, err := findConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.QPS, config.Burst = t.UserAgent, t.QPS, t.Burst
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config, nil
}

// NewClient returns a client of the cluster that a kubeconfig file names, or,
// when the path is empty, of the cluster that this pod runs in.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := NewConfig(kubeconfig, Traffic{UserAgent: Component, QPS: qps, Burst: burst})
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	return client, nil
}

// NewResources returns a client of the same cluster for custom resources.
func NewResources(kubeconfig string) (dynamic.Interface, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of custom resources of %s: %w", config.Host, err)
	}
	return client, nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := findConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = Component
	config.QPS, config.Burst = qps, burst
	return config, nil
}

func findConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("read the service account of this pod (outside a cluster, give --kubeconfig): %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}

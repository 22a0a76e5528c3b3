// Package kubeapi finds the API server: every client of every program starts from
// one of its configurations.
package kubeapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
	config, err := NewJSONConfig(kubeconfig, t)
	if err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config, nil
}

// NewJSONConfig returns NewConfig's for custom resources, which have no protobuf.
func NewJSONConfig(kubeconfig string, t Traffic) (*rest.Config, error) {
	config, err := findConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.QPS, config.Burst = t.UserAgent, t.QPS, t.Burst
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

// Package kubeapi connects programs with the API server. It builds client configurations,
// and makes the certificates with which a program serves HTTPS to the API server. It also
// checks that the admission policies that restrict a program's service account are in
// force, and cuts the notes of events to the length that the API server accepts.
package kubeapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Traffic identifies a client and limits its rate of requests.
type Traffic struct {
	UserAgent string
	QPS       float32 // requests per second; negative for no limit (for callers that limit themselves)
	Burst     int
}

// NewConfig returns the client configuration for the cluster of a kubeconfig file. If the
// path is empty, the configuration is for the cluster that this pod runs in. Clients with
// this configuration prefer protobuf to JSON.
func NewConfig(kubeconfig string, t Traffic) (*rest.Config, error) {
	config, err := NewJSONConfig(kubeconfig, t)
	if err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config, nil
}

// NewJSONConfig is like NewConfig, but for clients of custom resources. For these, the
// API server supports only JSON.
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
			return nil, fmt.Errorf("read the service account of this pod: %w; outside of a cluster, set --kubeconfig", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}

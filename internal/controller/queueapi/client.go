package queueapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Client reads the queue API through the API server.
type Client struct {
	Server string       // URL of the API server
	HTTP   *http.Client // with the caller's credentials
}

// ErrNoAPI means that the cluster does not serve the queue API at the moment.
var ErrNoAPI = errors.New("the cluster does not serve the queue API")

// maxResponse is the largest size of a response in bytes. It is enough for about 100,000 pods.
const maxResponse = 64 << 20

// List returns the pending pods of a namespace. With the namespace "", it returns the pending pods
// of all namespaces. The pods are sorted by the type of resource that they wait for ("cpu" or a
// model of GPU), and then by their position in the queue.
func (c Client) List(ctx context.Context, namespace string) ([]PendingPod, error) {
	var list PendingPodList
	err := c.get(ctx, within(namespace), &list)
	return list.Items, err
}

// Get returns one pending pod.
func (c Client) Get(ctx context.Context, namespace, name string) (pod PendingPod, err error) {
	return pod, c.get(ctx, within(namespace)+"/"+url.PathEscape(name), &pod)
}

// WhatIf tells whether a node has room now for a pending pod, and for the same pod after each of
// several changes.
func (c Client) WhatIf(ctx context.Context, namespace, name string) (answers WhatIf, err error) {
	return answers, c.get(ctx, within(namespace)+"/"+url.PathEscape(name)+"/"+whatIfResource, &answers)
}

func within(namespace string) string {
	if namespace == "" {
		return root + "/" + Resource
	}
	return root + "/namespaces/" + url.PathEscape(namespace) + "/" + Resource
}

func (c Client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.Server, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	request.Header.Set("Accept", jsonType)
	response, err := c.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxResponse)
	if response.StatusCode != http.StatusOK {
		return failure(response, body)
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("decode the answer of the queue API: %w", err)
	}
	return nil
}

// failure returns the error of a response. It returns an error that wraps ErrNoAPI if nothing
// serves the path, or if the server is not available. If the pod of the request is not pending,
// it returns a NotFound error with the pod's name.
func failure(response *http.Response, body io.Reader) error {
	var status metav1.Status
	if err := json.NewDecoder(body).Decode(&status); err != nil || status.Kind != "Status" {
		status = metav1.Status{Status: metav1.StatusFailure, Code: int32(response.StatusCode), Message: response.Status}
	}
	failed := &apierrors.StatusError{ErrStatus: status}
	served := status.Details != nil && status.Details.Kind == Resource
	if response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusNotFound && !served {
		return fmt.Errorf("%w: %w", ErrNoAPI, failed)
	}
	return failed
}

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
)

// Client reads a controller's queue.
type Client struct {
	Server string // URL of the API
}

// maxResponse is the limit for the size of a response, some 100,000 pods.
const maxResponse = 64 << 20

// Queue returns all pending pods, by type and in their order.
func (c Client) Queue(ctx context.Context) (pods []Pod, err error) {
	return pods, c.get(ctx, "/queue", &pods)
}

// Why returns one pending pod.
func (c Client) Why(ctx context.Context, namespace, name string) (pod Pod, err error) {
	return pod, c.get(ctx, "/queue/"+url.PathEscape(namespace)+"/"+url.PathEscape(name), &pod)
}

func (c Client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.Server, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("connect to the controller: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("connect to the controller: %w: forward a port of the pod that holds the lease first: kubectl -n numalet-system port-forward POD 8127", err)
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxResponse)
	if response.Header.Get("Content-Type") != jsonType {
		return fmt.Errorf("%s is not the queue API of a Numalet controller (it answered %s): forward port 8127 of the pod that holds the lease", c.Server, response.Status)
	}
	var failed failure
	if response.StatusCode != http.StatusOK {
		into = &failed
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("decode the response of the controller: %w", err)
	}
	if failed.Message != "" {
		return errors.New(failed.Message)
	}
	return nil
}

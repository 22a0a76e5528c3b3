package queueapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Client reads a controller's queue.
type Client struct {
	Server string // its URL
}

// Queue returns all pending pods, by type and in their order.
func (c Client) Queue(ctx context.Context) (pods []Pod, err error) {
	return pods, c.get(ctx, "/queue", &pods)
}

// Why returns one pending pod.
func (c Client) Why(ctx context.Context, namespace, name string) (pod Pod, err error) {
	return pod, c.get(ctx, "/queue/"+namespace+"/"+name, &pod)
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
	if response.StatusCode != http.StatusOK {
		why, err := io.ReadAll(io.LimitReader(response.Body, 1<<12))
		return errors.Join(errors.New(strings.TrimSpace(string(why))), err)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("decode the response of the controller: %w", err)
	}
	return nil
}

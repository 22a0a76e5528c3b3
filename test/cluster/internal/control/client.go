package control

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client sends the few requests to the API server that the command `rig` needs.
type Client struct {
	http *http.Client
	url  string
}

// Client returns a client with the rights of an administrator.
func (p Plane) Client() (*Client, error) {
	admin, err := tls.LoadX509KeyPair(p.file("admin.crt"), p.file("admin.key"))
	if err != nil {
		return nil, fmt.Errorf("load the administrator's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA.Cert)
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}}}
	return &Client{http: &http.Client{Transport: t, Timeout: 10 * time.Second}, url: p.url()}, nil
}

// Get sends a GET request and returns the body of the response. If the object does not exist, it
// returns "{}".
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path)
}

// DeleteNode deletes a Node object. It returns no error if the object does not exist.
func (c *Client) DeleteNode(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodDelete, "/api/v1/nodes/"+name)
	return err
}

// Node is the part of a node's status that the command `rig` uses.
type Node struct {
	Ready  bool
	BootID string // changes with each boot of the machine
}

// Node returns the status of the node. If the Node object does not exist yet, Node returns a status
// with the value false for Ready.
func (c *Client) Node(ctx context.Context, name string) (Node, error) {
	body, err := c.Get(ctx, "/api/v1/nodes/"+name)
	if err != nil {
		return Node{}, err
	}
	var object struct {
		Status struct {
			NodeInfo   struct{ BootID string }
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return Node{}, fmt.Errorf("parse node %s: %w", name, err)
	}
	node := Node{BootID: object.Status.NodeInfo.BootID}
	for _, condition := range object.Status.Conditions {
		node.Ready = node.Ready || condition.Type == "Ready" && condition.Status == "True"
	}
	return node, nil
}

func (c *Client) do(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusNotFound {
		return []byte("{}"), nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, body)
	}
	return body, nil
}

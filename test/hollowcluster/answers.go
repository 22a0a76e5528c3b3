package hollowcluster

import (
	"context"
	"fmt"
	"net"
)

// InstallQueue installs deploy/controller/queueapi, which registers the queue API
// (queue.numalet.dev) with the API server.
func (p *Plane) InstallQueue(ctx context.Context, repository string) error {
	_, err := p.Kubectl(ctx, "apply", "--server-side", "-k", repository+"/deploy/controller/queueapi")
	return err
}

// ServeQueue makes the API server forward requests for the queue API to a controller that runs on
// this machine and not in a pod. Call InstallQueue first.
func (p *Plane) ServeQueue(ctx context.Context, c *Controller) error {
	_, port, err := net.SplitHostPort(c.Queue)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-n", "numalet-system", "patch", "service", "numalet-queue", "--type=merge", "-p", `{"spec": {"type": "ExternalName", "externalName": "localhost"}}`},
		{"patch", "apiservice", "v1alpha1.queue.numalet.dev", "--type=merge", "-p", fmt.Sprintf(`{"spec": {"service": {"port": %s}}}`, port)},
		{"wait", "--for=condition=Available", "apiservice/v1alpha1.queue.numalet.dev", "--timeout=60s"},
	} {
		if _, err := p.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

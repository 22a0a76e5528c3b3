package hollowcluster

import (
	"context"
	"fmt"
	"net"
)

// ServeQueue installs deploy/controller/queueapi, and makes the API server serve the queue
// API of a controller that runs on this machine and not in a pod.
func (p *Plane) ServeQueue(ctx context.Context, c *Controller, repository string) error {
	_, port, err := net.SplitHostPort(c.Queue)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "-k", repository + "/deploy/controller/queueapi"},
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

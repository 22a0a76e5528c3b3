package kubelet

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// registerTimeout bounds Register, in which the kubelet calls back and gives
// up after 10 s itself.
const registerTimeout = 15 * time.Second

// register tells the kubelet behind socket where p is served. The kubelet calls
// back before it answers, so p must be served already.
func register(ctx context.Context, socket string, p *plugin) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	conn, err := dial(socket)
	if err != nil {
		return fmt.Errorf("register %s: %w", p.resource, err)
	}
	defer conn.Close()
	_, err = pluginapi.NewRegistrationClient(conn).Register(ctx, &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     endpoint(p),
		ResourceName: p.resource,
		Options:      p.options(),
	})
	if err != nil {
		return fmt.Errorf("register %s with the kubelet at %s: %w", p.resource, socket, err)
	}
	return nil
}

// dial connects to a socket of the kubelet at the first call.
func dial(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

package kubelet

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin answers the kubelet for one resource. It outlives the kubelet: only
// the server in front of it (serving) is made anew when the kubelet restarts.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	resource string
	source   Source

	mu struct {
		sync.Mutex
		devices []*pluginapi.Device // replaced, never changed in place
		changed chan struct{}       // closed when devices is replaced
	}
}

func newPlugin(resource string, source Source) *plugin {
	p := &plugin{resource: resource, source: source}
	p.mu.changed = make(chan struct{})
	return p
}

// local returns a resource's name without its domain.
func local(resource string) string { return resource[strings.IndexByte(resource, '/')+1:] }

// devices returns the present list and a channel that is closed when it is no
// longer the present one.
func (p *plugin) devices() ([]*pluginapi.Device, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.devices, p.mu.changed
}

// publish replaces the list and reports whether it differs from the last one.
func (p *plugin) publish(devices []*pluginapi.Device) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.EqualFunc(devices, p.mu.devices, sameDevice) {
		return false
	}
	p.mu.devices = devices
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
	return true
}

func sameDevice(a, b *pluginapi.Device) bool {
	return a.ID == b.ID && a.Health == b.Health && (a.Topology == nil) == (b.Topology == nil)
}

// options say which calls the kubelet is to make.
func (p *plugin) options() *pluginapi.DevicePluginOptions {
	_, chooses := p.source.(chooser)
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: chooses}
}

// GetDevicePluginOptions returns what Register told, too.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return p.options(), nil
}

// watch sends the list now and whenever it changes. It returns nil when stop is
// closed, and an error when the other side ends the stream.
func (p *plugin) watch(stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse], stop <-chan struct{}) error {
	for {
		devices, changed := p.devices()
		if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: devices}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stop:
			return nil
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// GetPreferredAllocation chooses for a container that the kubelet is admitting.
func (p *plugin) GetPreferredAllocation(ctx context.Context, r *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	resp := &pluginapi.PreferredAllocationResponse{}
	for _, c := range r.ContainerRequests {
		one := &pluginapi.ContainerPreferredAllocationResponse{}
		if source, chooses := p.source.(chooser); chooses {
			one.DeviceIDs = source.choose(ctx, p.resource, c)
		}
		resp.ContainerResponses = append(resp.ContainerResponses, one)
	}
	return resp, nil
}

// Allocate returns what each container is to be started with.
func (p *plugin) Allocate(_ context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	resp := &pluginapi.AllocateResponse{}
	for _, c := range r.ContainerRequests {
		if err := p.check(c.DevicesIds); err != nil {
			return nil, err
		}
		one, err := p.source.allocate(p.resource, c.DevicesIds)
		if err != nil {
			return nil, err
		}
		resp.ContainerResponses = append(resp.ContainerResponses, one)
	}
	return resp, nil
}

// check refuses ids that this plugin never published.
func (p *plugin) check(ids []string) error {
	devices, _ := p.devices()
	for _, id := range ids {
		if !slices.ContainsFunc(devices, func(d *pluginapi.Device) bool { return d.ID == id }) {
			return status.Errorf(codes.InvalidArgument, "allocate %s: device %q is not one of this node's: another plugin may serve the same resource", p.resource, id)
		}
	}
	return nil
}

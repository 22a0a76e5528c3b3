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

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
)

// plugin answers the kubelet for one resource. It outlives the kubelet: only
// the server in front of it (serving) is made anew when the kubelet restarts.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	node topology.NodeID

	mu struct {
		sync.Mutex
		devices []*pluginapi.Device // replaced, never changed in place
		changed chan struct{}       // closed when devices is replaced
	}
}

func newPlugin(node topology.NodeID) *plugin {
	p := &plugin{node: node}
	p.mu.changed = make(chan struct{})
	return p
}

func (p *plugin) resource() string { return v1alpha1.NUMAResource(int(p.node)) }

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

// GetDevicePluginOptions asks for no extra call.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
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

// Allocate returns, per container, the annotation that tells the agent how many
// CPUs of this NUMA node the kubelet has counted for it.
func (p *plugin) Allocate(_ context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	resp := &pluginapi.AllocateResponse{}
	for _, c := range r.ContainerRequests {
		if err := p.check(c.DevicesIds); err != nil {
			return nil, err
		}
		ids := slices.SortedFunc(slices.Values(c.DevicesIds), compareIDs)
		resp.ContainerResponses = append(resp.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Annotations: map[string]string{v1alpha1.AllocatedAnnotation(int(p.node)): strings.Join(ids, ",")},
		})
	}
	return resp, nil
}

// check refuses ids that this plugin never published.
func (p *plugin) check(ids []string) error {
	devices, _ := p.devices()
	for _, id := range ids {
		if !slices.ContainsFunc(devices, func(d *pluginapi.Device) bool { return d.ID == id }) {
			return status.Errorf(codes.InvalidArgument, "allocate %s: device %q is not one of this node's: another plugin may serve the same resource", p.resource(), id)
		}
	}
	return nil
}

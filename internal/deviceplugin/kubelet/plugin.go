package kubelet

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Source lists and allocates one kind of device: exclusive CPUs or GPUs.
type Source interface {
	// list returns the current devices of each resource. A resource that has been in one result is
	// in all later results. If it has no devices any more, its list is empty.
	list(previous) (map[string][]*pluginapi.Device, error)
	// owns reports whether this Source has the device with the given resource and ID. It
	// returns false if another device plugin has registered the same resource and has
	// the device.
	owns(resource, id string) bool
	// allocate returns the environment, annotations and devices of a container that
	// gets the devices with these IDs. If it returns an error, the kubelet fails the
	// pod and shows the error in the pod's status.
	allocate(resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error)
}

// chooser is a Source that prefers some available devices to others.
type chooser interface {
	// choose returns the requested number of devices: those that the kubelet requires,
	// and the best of the other available devices. If too few of these can be allocated,
	// it returns only the devices that the kubelet requires.
	choose(ctx context.Context, resource string, r *pluginapi.ContainerPreferredAllocationRequest) []string
}

// previous is the argument of Source.list. It tells which devices containers hold, and which devices
// were published last.
type previous struct {
	held    func(resource string) map[string]bool     // the IDs of the devices that containers hold
	devices func(resource string) []*pluginapi.Device // the devices that were published last
	pods    map[types.NamespacedName]PodDevices       // all pods that the kubelet lists, with their devices
	stale   bool                                      // the kubelet has not answered this time, so `held` and `pods` are from an earlier answer
}

// plugin answers the kubelet's calls for one resource. After a restart of the kubelet,
// the plugin stays the same, and only its server is replaced.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	resource string
	source   Source

	mu struct {
		sync.Mutex
		devices []*pluginapi.Device // the method `publish` replaces this slice; nothing changes the devices in it
		changed chan struct{}       // closed when the slice `devices` is replaced
	}
}

func newPlugin(resource string, source Source) *plugin {
	p := &plugin{resource: resource, source: source}
	p.mu.changed = make(chan struct{})
	return p
}

// baseName returns a resource's name without its domain.
func baseName(resource string) string { return resource[strings.IndexByte(resource, '/')+1:] }

// devices returns the current list of devices, and a channel that is closed when the
// list is replaced.
func (p *plugin) devices() ([]*pluginapi.Device, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.devices, p.mu.changed
}

func (p *plugin) hasHealthy() bool {
	devices, _ := p.devices()
	return slices.ContainsFunc(devices, func(device *pluginapi.Device) bool { return device.Health == pluginapi.Healthy })
}

// publish replaces the list of devices, and reports whether the new list differs from
// the last one.
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

func sameDevice(a, b *pluginapi.Device) bool { return proto.Equal(a, b) }

// options tells the kubelet which of the optional calls of the device plugin API it
// must make to this plugin.
func (p *plugin) options() *pluginapi.DevicePluginOptions {
	_, chooses := p.source.(chooser)
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: chooses}
}

// GetDevicePluginOptions returns the same options that the plugin sent to the kubelet
// with Register.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return p.options(), nil
}

// watch sends the list of devices to the kubelet, and sends the new list after each
// change. It returns nil when `stop` is closed, and an error when the kubelet ends the
// stream.
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

// GetPreferredAllocation chooses devices for a container that the kubelet admits.
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

// Allocate returns the environment, annotations and devices of each container.
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

// check returns an error if one of these device IDs was not published by this plugin.
func (p *plugin) check(ids []string) error {
	devices, _ := p.devices()
	for _, id := range ids {
		if !slices.ContainsFunc(devices, func(device *pluginapi.Device) bool { return device.ID == id }) {
			return status.Errorf(codes.InvalidArgument, "allocate %s: device %q is not one of this node's; check whether another device plugin serves the same resource", p.resource, id)
		}
	}
	return nil
}

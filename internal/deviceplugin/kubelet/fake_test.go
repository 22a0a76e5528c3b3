package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// fakeKubelet behaves like the kubelet's device manager. It removes all sockets when it
// starts. In Register, it calls the plugin before it answers. It keeps the last device list
// of each resource, and serves the pod resources API.
type fakeKubelet struct {
	pluginapi.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer
	dir    string
	server *grpc.Server

	mu struct {
		sync.Mutex
		registrations map[string]int
		plugins       map[string]*grpc.ClientConn
		devices       map[string]map[string]string // resource → id → health
		allocated     map[string][]string          // resource → ids
		busy          int                          // how many of the next calls of List and GetAllocatableResources are refused, as if they exceeded the kubelet's rate limit
	}
}

// startKubelet starts a fake kubelet with the root directory `root`. If a fake kubelet ran
// there before, the new one acts as the same kubelet after a restart.
func startKubelet(t *testing.T, root string) *fakeKubelet {
	t.Helper()
	k := &fakeKubelet{dir: filepath.Join(root, "device-plugins"), server: grpc.NewServer()}
	k.mu.registrations, k.mu.plugins = map[string]int{}, map[string]*grpc.ClientConn{}
	k.mu.devices, k.mu.allocated = map[string]map[string]string{}, map[string][]string{}
	pluginapi.RegisterRegistrationServer(k.server, k)
	podresources.RegisterPodResourcesListerServer(k.server, k)
	removeSockets(t, k.dir)
	for _, dir := range []string{filepath.Join(root, "pod-resources"), k.dir} {
		k.listen(t, dir)
	}
	t.Cleanup(k.kill)
	return k
}

func removeSockets(t *testing.T, dir string) {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sockets {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// listen listens on the socket kubelet.sock in dir. The socket file stays when the server
// stops, as it does when a kubelet is killed.
func (k *fakeKubelet) listen(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kubelet.sock")
	os.Remove(path)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	go k.server.Serve(l)
}

// kill ends the kubelet at once, without a notice to the plugins.
func (k *fakeKubelet) kill() {
	k.server.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.mu.plugins {
		conn.Close()
	}
}

func (k *fakeKubelet) Register(ctx context.Context, r *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	if r.Version != pluginapi.Version {
		return nil, fmt.Errorf("version %q", r.Version)
	}
	conn, err := dial(filepath.Join(k.dir, r.Endpoint))
	if err != nil {
		return nil, err
	}
	client := pluginapi.NewDevicePluginClient(conn)
	if _, err := client.GetDevicePluginOptions(ctx, &pluginapi.Empty{}); err != nil {
		return nil, err
	}
	stream, err := client.ListAndWatch(context.Background(), &pluginapi.Empty{})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.registrations[r.ResourceName]++
	k.mu.plugins[r.ResourceName] = conn
	go k.receive(r.ResourceName, stream)
	return &pluginapi.Empty{}, nil
}

func (k *fakeKubelet) receive(resource string, stream grpc.ServerStreamingClient[pluginapi.ListAndWatchResponse]) {
	for {
		resp, err := stream.Recv()
		if err != nil {
			return
		}
		devices := map[string]string{}
		for _, device := range resp.Devices {
			devices[device.ID] = device.Health
		}
		k.mu.Lock()
		k.mu.devices[resource] = devices
		k.mu.Unlock()
	}
}

func (k *fakeKubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.limit(); err != nil {
		return nil, err
	}
	c := &podresources.ContainerResources{}
	for resource, ids := range k.mu.allocated {
		c.Devices = append(c.Devices, &podresources.ContainerDevices{ResourceName: resource, DeviceIds: ids})
	}
	return &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{{Containers: []*podresources.ContainerResources{c}}}}, nil
}

func (k *fakeKubelet) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.limit(); err != nil {
		return nil, err
	}
	resp := &podresources.AllocatableResourcesResponse{}
	for resource, devices := range k.mu.devices {
		for id, health := range devices {
			if health == pluginapi.Healthy {
				resp.Devices = append(resp.Devices, &podresources.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}})
			}
		}
	}
	return resp, nil
}

// limit returns the kubelet's error for a call that exceeds its rate limit. Callers hold k.mu.
func (k *fakeKubelet) limit() error {
	if k.mu.busy == 0 {
		return nil
	}
	k.mu.busy--
	return status.Error(codes.ResourceExhausted, "rejected by rate limit")
}

// status returns "allocatable/capacity" of each resource. kubectl describe node would show
// the same numbers.
func (k *fakeKubelet) status() map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]string{}
	for resource, devices := range k.mu.devices {
		healthy := 0
		for _, health := range devices {
			if health == pluginapi.Healthy {
				healthy++
			}
		}
		all[resource] = fmt.Sprintf("%d/%d", healthy, len(devices))
	}
	return all
}

// health returns the health of a device, or "" if the device is not listed.
func (k *fakeKubelet) health(resource, id string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.devices[resource][id]
}

func (k *fakeKubelet) registrations() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.mu.registrations)
}

// allocate calls Allocate of the plugin of a resource, and records the devices as the only
// allocated devices of the resource.
func (k *fakeKubelet) allocate(t *testing.T, resource string, ids ...string) (map[string]string, error) {
	t.Helper()
	k.mu.Lock()
	k.mu.allocated[resource] = ids
	conn := k.mu.plugins[resource]
	k.mu.Unlock()
	resp, err := pluginapi.NewDevicePluginClient(conn).Allocate(t.Context(), &pluginapi.AllocateRequest{
		ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: ids}},
	})
	if err != nil {
		return nil, err
	}
	return resp.ContainerResponses[0].Annotations, nil
}

// dropStream ends the connection to the plugin of a resource while the kubelet continues to
// run.
func (k *fakeKubelet) dropStream(resource string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.plugins[resource].Close()
}

// otherPlugin acts as a device plugin of another vendor that registers the same resource
// with these devices.
func (k *fakeKubelet) otherPlugin(resource string, ids ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.devices[resource] = map[string]string{}
	for _, id := range ids {
		k.mu.devices[resource][id] = pluginapi.Healthy
	}
}

// prefer calls GetPreferredAllocation of the plugin of a resource.
func (k *fakeKubelet) prefer(t *testing.T, resource string, count int32, available ...string) []string {
	t.Helper()
	k.mu.Lock()
	conn := k.mu.plugins[resource]
	k.mu.Unlock()
	resp, err := pluginapi.NewDevicePluginClient(conn).GetPreferredAllocation(t.Context(), &pluginapi.PreferredAllocationRequest{
		ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: available, AllocationSize: count}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp.ContainerResponses[0].DeviceIDs
}

// listed returns the healthy devices of a resource.
func (k *fakeKubelet) listed(resource string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []string
	for id, health := range k.mu.devices[resource] {
		if health == pluginapi.Healthy {
			ids = append(ids, id)
		}
	}
	return ids
}

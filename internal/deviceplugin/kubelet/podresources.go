package kubelet

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// allocationsTimeout is how long to wait for the kubelet's list of the allocated devices. The
// publisher asks for this list before it registers its resources. If the kubelet does not answer in
// time, the publisher registers them without the list.
const allocationsTimeout = 5 * time.Second

// maxPodResources is the largest size of an answer of the pod resources API: 16 MiB, which is also
// the kubelet's own limit.
const maxPodResources = 16 << 20

// retryLimited is a configuration of gRPC that repeats calls which the kubelet refused because of
// its rate limit. For all clients on the node together, the kubelet answers at most 100 calls of
// its pod resources API a second, and at most 10 calls at once. The calls of Numalet alone exceed
// this limit when the kubelet admits several pods with GPUs one after another. Up to four retries
// take about 0.3 s, which is less than decideTimeout.
// Source: https://kubernetes.io/blog/2023/08/23/kubelet-podresources-api-ga/
const retryLimited = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.02s", "maxBackoff": "0.2s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]
}}]}`

// idsByResource is a set of device IDs per resource.
type idsByResource map[string]map[string]bool

func (m idsByResource) add(devices []*podresources.ContainerDevices) {
	for _, device := range devices {
		if m[device.ResourceName] == nil {
			m[device.ResourceName] = map[string]bool{}
		}
		for _, id := range device.DeviceIds {
			m[device.ResourceName][id] = true
		}
	}
}

// allocations is what the kubelet knows about the devices of all device plugins.
type allocations struct {
	held    idsByResource                       // devices that containers hold
	healthy idsByResource                       // devices that were healthy in the latest list of their device plugin
	pods    map[types.NamespacedName]PodDevices // all pods that the kubelet lists, with their devices
}

// podResourcesSocket returns the path of the socket on which the kubelet with this root directory
// serves its pod resources API.
// Source: https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
func podResourcesSocket(root string) string {
	return filepath.Join(root, "pod-resources", "kubelet.sock")
}

// lister is a client of the kubelet's pod resources API. The caller must close its connection.
type lister struct {
	conn   *grpc.ClientConn
	client podresources.PodResourcesListerClient
	socket string
}

func dialLister(socket string) (lister, error) {
	conn, err := dial(socket, grpc.WithDefaultServiceConfig(retryLimited))
	if err != nil {
		return lister{}, fmt.Errorf("connect to the pod resources API: %w", err)
	}
	return lister{conn, podresources.NewPodResourcesListerClient(conn), socket}, nil
}

func (l lister) pods(ctx context.Context) ([]*podresources.PodResources, error) {
	list, err := l.client.List(ctx, &podresources.ListPodResourcesRequest{}, grpc.MaxCallRecvMsgSize(maxPodResources))
	if err != nil {
		return nil, fmt.Errorf("list pod resources at %s: %w", l.socket, err)
	}
	return list.PodResources, nil
}

func (l lister) allocatable(ctx context.Context) ([]*podresources.ContainerDevices, error) {
	all, err := l.client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{}, grpc.MaxCallRecvMsgSize(maxPodResources))
	if err != nil {
		return nil, fmt.Errorf("read allocatable resources at %s: %w", l.socket, err)
	}
	return all.Devices, nil
}

// listPods asks the kubelet at this socket for the devices and other resources of each of its pods.
func listPods(ctx context.Context, socket string) ([]*podresources.PodResources, error) {
	l, err := dialLister(socket)
	if err != nil {
		return nil, err
	}
	defer l.conn.Close()
	return l.pods(ctx)
}

// readAllocations asks the kubelet at this socket for the healthy devices of all device plugins,
// and for the devices that containers hold.
func readAllocations(ctx context.Context, socket string) (allocations, error) {
	ctx, cancel := context.WithTimeout(ctx, allocationsTimeout)
	defer cancel()
	l, err := dialLister(socket)
	if err != nil {
		return allocations{}, err
	}
	defer l.conn.Close()
	pods, err := l.pods(ctx)
	if err != nil {
		return allocations{}, err
	}
	healthy, err := l.allocatable(ctx)
	if err != nil {
		return allocations{}, err
	}
	v := allocations{idsByResource{}, idsByResource{}, map[types.NamespacedName]PodDevices{}}
	v.healthy.add(healthy)
	for _, pod := range pods {
		v.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = devicesOf(pod)
		for _, container := range pod.Containers {
			v.held.add(container.Devices)
		}
	}
	return v, nil
}

// PodDevices is a pod and the IDs of the devices that the kubelet gave its containers.
type PodDevices struct {
	Namespace, Name string
	Devices         []string
}

// ListDevices returns the pods that hold devices, in no particular order. The argument `root` is
// the root directory of the kubelet. The devices of init containers other than sidecars are
// missing, because the kubelet does not list them.
func ListDevices(ctx context.Context, root string) ([]PodDevices, error) {
	ctx, cancel := context.WithTimeout(ctx, allocationsTimeout)
	defer cancel()
	pods, err := listPods(ctx, podResourcesSocket(root))
	if err != nil {
		return nil, err
	}
	var all []PodDevices
	for _, pod := range pods {
		if held := devicesOf(pod); len(held.Devices) > 0 {
			all = append(all, held)
		}
	}
	return all, nil
}

func devicesOf(pod *podresources.PodResources) PodDevices {
	held := PodDevices{Namespace: pod.Namespace, Name: pod.Name}
	for _, container := range pod.Containers {
		for _, device := range container.Devices {
			held.Devices = append(held.Devices, device.DeviceIds...)
		}
	}
	return held
}

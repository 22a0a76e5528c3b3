package kubelet

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// allocationsTimeout bounds the wait for the kubelet's answer, which delays the
// registration but is not required for it.
const allocationsTimeout = 5 * time.Second

// maxPodResources is the kubelet's own limit for an answer: 16 MiB.
const maxPodResources = 16 << 20

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

// allocations is the kubelet's state of the resources of all device plugins.
type allocations struct {
	held    idsByResource // by containers
	healthy idsByResource // in the latest list of the plugin
}

// podResourcesSocket returns the socket of the pod resources API of a kubelet, by
// its root directory.
// Source: https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
func podResourcesSocket(root string) string {
	return filepath.Join(root, "pod-resources", "kubelet.sock")
}

// lister is a client of the kubelet's pod resources API. Its connection must be
// closed.
type lister struct {
	conn   *grpc.ClientConn
	client podresources.PodResourcesListerClient
	socket string
}

func dialLister(socket string) (lister, error) {
	conn, err := dial(socket)
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

// listPods returns the resources of each pod of the kubelet behind socket.
func listPods(ctx context.Context, socket string) ([]*podresources.PodResources, error) {
	l, err := dialLister(socket)
	if err != nil {
		return nil, err
	}
	defer l.conn.Close()
	return l.pods(ctx)
}

// readAllocations queries the kubelet behind socket.
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
	v := allocations{idsByResource{}, idsByResource{}}
	v.healthy.add(healthy)
	for _, pod := range pods {
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

// ListDevices returns the pods of the kubelet with a root directory that hold devices, in
// no order. Init containers other than sidecars are not in the kubelet's list.
func ListDevices(ctx context.Context, root string) ([]PodDevices, error) {
	ctx, cancel := context.WithTimeout(ctx, allocationsTimeout)
	defer cancel()
	pods, err := listPods(ctx, podResourcesSocket(root))
	if err != nil {
		return nil, err
	}
	var all []PodDevices
	for _, pod := range pods {
		held := PodDevices{Namespace: pod.Namespace, Name: pod.Name}
		for _, container := range pod.Containers {
			for _, device := range container.Devices {
				held.Devices = append(held.Devices, device.DeviceIds...)
			}
		}
		if len(held.Devices) > 0 {
			all = append(all, held)
		}
	}
	return all, nil
}

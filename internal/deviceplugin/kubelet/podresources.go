package kubelet

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// lookTimeout bounds the wait for the kubelet's answer: registration does not
// wait longer for what is good to know.
const lookTimeout = 5 * time.Second

// maxPodResources is the kubelet's own limit of an answer: 16 MiB.
const maxPodResources = 16 << 20

// idsByResource holds device ids, by the name of their resource.
type idsByResource map[string]map[string]bool

func (m idsByResource) add(devices []*podresources.ContainerDevices) {
	for _, d := range devices {
		if m[d.ResourceName] == nil {
			m[d.ResourceName] = map[string]bool{}
		}
		for _, id := range d.DeviceIds {
			m[d.ResourceName][id] = true
		}
	}
}

// view is what the kubelet says of all device plugins' resources.
type view struct {
	allocated idsByResource // held by containers
	healthy   idsByResource // from the latest list that it got
}

// podResourcesSocket returns where the kubelet of a root directory serves its pod
// resources API.
// Source: https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
func podResourcesSocket(root string) string {
	return filepath.Join(root, "pod-resources", "kubelet.sock")
}

// lister asks the kubelet's pod resources API; it has to be closed.
type lister struct {
	conn   *grpc.ClientConn
	client podresources.PodResourcesListerClient
	socket string
}

func dialLister(socket string) (lister, error) {
	conn, err := dial(socket)
	if err != nil {
		return lister{}, fmt.Errorf("dial the pod resources API: %w", err)
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

// listPods returns what the kubelet behind socket lists of each pod.
func listPods(ctx context.Context, socket string) ([]*podresources.PodResources, error) {
	l, err := dialLister(socket)
	if err != nil {
		return nil, err
	}
	defer l.conn.Close()
	return l.pods(ctx)
}

// look asks the kubelet behind socket.
func look(ctx context.Context, socket string) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	l, err := dialLister(socket)
	if err != nil {
		return view{}, err
	}
	defer l.conn.Close()
	pods, err := l.pods(ctx)
	if err != nil {
		return view{}, err
	}
	healthy, err := l.allocatable(ctx)
	if err != nil {
		return view{}, err
	}
	v := view{idsByResource{}, idsByResource{}}
	v.healthy.add(healthy)
	for _, pod := range pods {
		for _, c := range pod.Containers {
			v.allocated.add(c.Devices)
		}
	}
	return v, nil
}

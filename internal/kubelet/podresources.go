package kubelet

import (
	"context"
	"fmt"
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

// look asks the kubelet's pod resources API behind socket.
// Source: https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
func look(ctx context.Context, socket string) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	conn, err := dial(socket)
	if err != nil {
		return view{}, fmt.Errorf("dial the pod resources API: %w", err)
	}
	defer conn.Close()
	client, large := podresources.NewPodResourcesListerClient(conn), grpc.MaxCallRecvMsgSize(maxPodResources)
	pods, err := client.List(ctx, &podresources.ListPodResourcesRequest{}, large)
	if err != nil {
		return view{}, fmt.Errorf("list pod resources at %s: %w", socket, err)
	}
	all, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{}, large)
	if err != nil {
		return view{}, fmt.Errorf("read allocatable resources at %s: %w", socket, err)
	}
	v := view{idsByResource{}, idsByResource{}}
	v.healthy.add(all.Devices)
	for _, pod := range pods.PodResources {
		for _, c := range pod.Containers {
			v.allocated.add(c.Devices)
		}
	}
	return v, nil
}

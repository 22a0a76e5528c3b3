// Command podresources prints the devices of all containers according to the pod resources API of
// the node's kubelet. Each line has a pod, a container, a resource and device IDs, such as
// "default/a main nvidia.com/gpu GPU-0,GPU-1".
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const socket = "unix:///var/lib/kubelet/pod-resources/kubelet.sock"

func main() {
	if err := list(); err != nil {
		fmt.Fprintln(os.Stderr, "podresources:", err)
		os.Exit(1)
	}
}

func list() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := grpc.NewClient(socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("dial %s: %w", socket, err)
	}
	defer conn.Close()
	all, err := podresources.NewPodResourcesListerClient(conn).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return fmt.Errorf("list pod resources: %w", err)
	}
	for _, pod := range all.PodResources {
		for _, container := range pod.Containers {
			for _, device := range container.Devices {
				fmt.Println(pod.Namespace+"/"+pod.Name, container.Name, device.ResourceName, strings.Join(device.DeviceIds, ","))
			}
		}
	}
	return nil
}

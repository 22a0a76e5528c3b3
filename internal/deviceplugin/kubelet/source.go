package kubelet

import (
	"context"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Source is one kind of devices, and what the kubelet is told of them.
type Source interface {
	// list returns the devices of each resource as they are now; a resource that
	// was returned once stays, if with none.
	list(seen) (map[string][]*pluginapi.Device, error)
	// ours tells the devices of one of its resources from another plugin's.
	ours(resource, id string) bool
	// allocate returns what a container is started with that gets these devices,
	// which were listed. Its error becomes the pod's message.
	allocate(resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error)
}

// chooser is a Source that has a say in which devices the kubelet takes.
type chooser interface {
	// choose returns the best of the available devices, as many as asked for and
	// among them those that must be.
	choose(ctx context.Context, resource string, r *pluginapi.ContainerPreferredAllocationRequest) []string
}

// seen is what was there before a list is made.
type seen struct {
	held   func(resource string) map[string]bool     // the ids that containers hold
	before func(resource string) []*pluginapi.Device // the last list
}

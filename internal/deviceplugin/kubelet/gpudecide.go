package kubelet

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// arrivalWait is how long a pod that the kubelet admits may take to be known here:
// both watch the API server, and either may hear of it first.
const arrivalWait = time.Second

// Pods is what the API server says about this node's pods.
type Pods interface {
	All() []*corev1.Pod
	// Added returns a channel that is closed when the next pod arrives.
	Added() <-chan struct{}
}

// Decider knows which GPUs the cluster controller decided on for the container
// that the kubelet admits, though the kubelet does not tell which that is: it
// admits one pod after another, and its pod resources API lists each from just
// before that on. So of the pods listed the one being admitted is the one that
// wants as many devices as are asked for and has none yet. Before Kubernetes 1.34
// there may be others, which were refused: those that ended are left out, and of
// the rest comes first the oldest whose GPUs are available.
//
// The kubelet answers List while it waits for a device plugin; the device manager
// lets go of its lock for that.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/devicemanager/manager.go#L1030
type Decider struct {
	Pods Pods
	List func(context.Context) ([]*podresources.PodResources, error) // what the kubelet lists
	Log  logr.Logger
}

// NewDecider returns a Decider that asks the kubelet of a root directory.
func NewDecider(pods Pods, root string, log logr.Logger) *Decider {
	list := func(ctx context.Context) ([]*podresources.PodResources, error) {
		return listPods(ctx, podResourcesSocket(root))
	}
	return &Decider{Pods: pods, List: list, Log: log}
}

// request is what the kubelet asks for, for one container.
type request struct {
	resource        string
	available, must []string // must is part of available
	count           int
}

func asRequest(resource string, r *pluginapi.ContainerPreferredAllocationRequest) request {
	return request{resource, r.AvailableDeviceIDs, r.MustIncludeDeviceIDs, int(r.AllocationSize)}
}

// decision is what was decided for the container that a request is for, nil for
// nothing, and for others: none of that is to be taken.
type decision struct {
	ids    []string
	others map[string]bool // cards and slices
}

// decide finds the container that a request is for and what was decided for it. A
// nil Decider decides nothing. O(pods of the node).
func (d *Decider) decide(ctx context.Context, r request) decision {
	if d == nil {
		return decision{}
	}
	ctx, cancel := context.WithTimeout(ctx, arrivalWait)
	defer cancel()
	listed, err := d.List(ctx)
	if err != nil {
		d.Log.Error(err, "cannot find out for which pod the kubelet asks; it may get other GPUs than decided, which the agent refuses", "resource", r.resource)
	}
	for {
		arrived := d.Pods.Added()
		pods := d.Pods.All()
		for _, a := range askers(pods, listed, r) {
			if ids := a.decided(r); ids != nil {
				d.Log.V(2).Info("as decided", "pod", a.pod.Namespace+"/"+a.pod.Name, "container", a.container, "resource", r.resource, "devices", ids)
				return decision{ids, decidedBut(pods, a.pod)}
			}
		}
		if allKnown(pods, listed, r.resource) || !wait(ctx, arrived) {
			return decision{nil, decidedBut(pods, nil)}
		}
	}
}

// wait returns false when ctx ends first.
func wait(ctx context.Context, arrived <-chan struct{}) bool {
	select {
	case <-arrived:
		return true
	case <-ctx.Done():
		return false
	}
}

// decidedBut returns the GPUs that were decided on for pods that have not ended,
// except for one.
func decidedBut(pods []*corev1.Pod, except *corev1.Pod) map[string]bool {
	all := map[string]bool{}
	for _, pod := range pods {
		if pod == except || v1alpha1.Ended(pod) {
			continue
		}
		for _, id := range decidedOn(pod, "") {
			all[id] = true
		}
	}
	return all
}

package kubelet

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// informerDelay is how long a pod that the kubelet admits may take to reach the
// informer: both watch the API server, and either may be first.
const informerDelay = time.Second

// Pods is the informer's cache of this node's pods.
type Pods interface {
	All() []*corev1.Pod
	// Added returns a channel that is closed when the next pod is added.
	Added() <-chan struct{}
}

// Decider finds the GPUs that the cluster controller decided on for the container
// that the kubelet admits. The device plugin API does not name that container.
// But the kubelet admits one pod after another, and its pod resources API lists a
// pod from just before its admission. So the container is the listed one that
// requests this number of devices and has none yet. Before Kubernetes 1.34 the list can also have
// rejected pods: pods that have ended are left out, and the oldest remaining pod whose GPUs are
// available is used.
//
// The kubelet answers List while it waits for a device plugin, because the device
// manager releases its lock for the call.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/devicemanager/manager.go#L1030
type Decider struct {
	Pods Pods
	List func(context.Context) ([]*podresources.PodResources, error) // from the kubelet
	Log  logr.Logger
}

// NewDecider returns a Decider that queries the kubelet with this root directory.
func NewDecider(pods Pods, root string, log logr.Logger) *Decider {
	list := func(ctx context.Context) ([]*podresources.PodResources, error) {
		return listPods(ctx, podResourcesSocket(root))
	}
	return &Decider{Pods: pods, List: list, Log: log}
}

// request is the kubelet's request for the devices of one container.
type request struct {
	resource        string
	available, must []string // must is part of available
	count           int
}

func asRequest(resource string, r *pluginapi.ContainerPreferredAllocationRequest) request {
	return request{resource, r.AvailableDeviceIDs, r.MustIncludeDeviceIDs, int(r.AllocationSize)}
}

// decision is the devices for the container of a request, nil without a decision,
// and those that were decided on for other pods.
type decision struct {
	ids    []string
	others map[string]bool // GPUs and slices
}

// decide finds the container of a request and the decision for it. A nil Decider
// has no decisions. O(pods of the node).
func (d *Decider) decide(ctx context.Context, r request) decision {
	if d == nil {
		return decision{}
	}
	ctx, cancel := context.WithTimeout(ctx, informerDelay)
	defer cancel()
	listed, err := d.List(ctx)
	if err != nil {
		d.Log.Error(err, "cannot determine which pod the kubelet admits; if it gets other GPUs than the controller decided on, the agent rejects it", "resource", r.resource)
	}
	for {
		added := d.Pods.Added()
		pods := d.Pods.All()
		for _, a := range candidates(pods, listed, r) {
			if ids := a.devices(r); ids != nil {
				d.Log.V(2).Info("chose the decided GPUs", "pod", a.pod.Namespace+"/"+a.pod.Name, "container", a.container, "resource", r.resource, "devices", ids)
				return decision{ids, decidedExcept(pods, a.pod)}
			}
		}
		if allKnown(pods, listed, r.resource) || !wait(ctx, added) {
			return decision{nil, decidedExcept(pods, nil)}
		}
	}
}

// wait waits until a pod is added, and returns false if ctx ends first.
func wait(ctx context.Context, added <-chan struct{}) bool {
	select {
	case <-added:
		return true
	case <-ctx.Done():
		return false
	}
}

// decidedExcept returns the GPUs that were decided on for all pods that have not
// ended, except one.
func decidedExcept(pods []*corev1.Pod, except *corev1.Pod) map[string]bool {
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

// candidate is a container that the kubelet may be admitting.
type candidate struct {
	pod       *corev1.Pod
	container string
}

// candidates returns the candidates among the listed pods, ordered by the age of the pod and then
// in the order in which the kubelet admits its containers.
func candidates(pods []*corev1.Pod, listed []*podresources.PodResources, r request) []candidate {
	now := map[types.NamespacedName]*podresources.PodResources{}
	for _, p := range listed {
		now[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	}
	var found []candidate
	for _, pod := range slices.SortedStableFunc(slices.Values(pods), byAge) {
		has := now[nameOf(pod)]
		if has == nil || isEnding(pod) {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			limit := c.Resources.Limits[corev1.ResourceName(r.resource)]
			if limit.Value() == int64(r.count) && !holds(has, c.Name, r.resource) {
				found = append(found, candidate{pod, c.Name})
			}
		}
	}
	return found
}

// allKnown reports whether the informer has all listed pods without devices of a
// resource. If the informer's pod of that name has ended or is being deleted, the
// listed one may be its successor, so it counts as unknown.
func allKnown(pods []*corev1.Pod, listed []*podresources.PodResources, resource string) bool {
	known := map[types.NamespacedName]bool{}
	for _, pod := range pods {
		known[nameOf(pod)] = !isEnding(pod)
	}
	return !slices.ContainsFunc(listed, func(p *podresources.PodResources) bool {
		holds := slices.ContainsFunc(p.Containers, func(c *podresources.ContainerResources) bool { return holds(p, c.Name, resource) })
		return !holds && !known[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
	})
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func byAge(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }

// isEnding reports whether a pod can no longer be admitted.
func isEnding(pod *corev1.Pod) bool { return v1alpha1.Ended(pod) || pod.DeletionTimestamp != nil }

// holds reports whether a container has devices of a resource. The kubelet does not
// list init containers, so for them it is false.
func holds(pod *podresources.PodResources, container, resource string) bool {
	for _, c := range pod.Containers {
		if c.Name == container && slices.ContainsFunc(c.Devices, func(d *podresources.ContainerDevices) bool { return d.ResourceName == resource }) {
			return true
		}
	}
	return false
}

// devices returns the devices for the container, or nil: the required ones, then
// its own GPUs, then others of its pod. The latter are needed because the kubelet
// passes the devices of an init container to any later container.
func (c candidate) devices(r request) []string {
	own := decidedOn(c.pod, c.container)
	if len(own) == 0 {
		return nil
	}
	ids := slices.Clone(r.must)
	for _, id := range slices.Concat(own, decidedOn(c.pod, "")) {
		if len(ids) < r.count && slices.Contains(r.available, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) != r.count {
		return nil
	}
	return ids
}

// decidedOn returns the GPUs that were decided on for a container of a pod, or, if
// the container is "", for the whole pod. An invalid placement counts as none; the
// agent rejects it.
func decidedOn(pod *corev1.Pod, container string) []string {
	text, decided := pod.Annotations[v1alpha1.AnnotationPlacement]
	if !decided {
		return nil
	}
	p, err := v1alpha1.ParsePlacement(text)
	if err != nil {
		return nil
	}
	if container != "" {
		return p.Containers[container].GPUs
	}
	return p.GPUs()
}

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

// decideTimeout is the timeout of the method `decide`. During this time, the kubelet admits no other
// pod. The time must be enough for the answers of a busy kubelet and of a busy API server, because
// without them the pod may get GPUs with which the agent must reject it.
const decideTimeout = 5 * time.Second

// consequence is the end of messages that say why the kubelet may allocate other GPUs to a pod than
// the controller chose.
const consequence = "if the pod gets other GPUs than the controller decided on, the agent rejects it"

// Pods is the informer's cache of this node's pods, which may be behind the API server.
type Pods interface {
	// All returns the pods in the cache.
	All() []*corev1.Pod
	// Read returns the node's pods as the API server has them now.
	Read(ctx context.Context) ([]*corev1.Pod, error)
}

// Decider finds the GPUs that the controller chose for the container that the kubelet is admitting.
// The device plugin API does not name that container. But the kubelet admits one pod after another,
// and its pod resources API already lists a pod while the kubelet admits it. So Decider looks in
// the listed pods for a container that has no devices of the requested resource yet, and whose
// limit for this resource equals the number of devices that the kubelet asks for. Containers of
// several listed pods can match: before Kubernetes 1.34, the kubelet also lists pods that it has
// rejected. Decider therefore leaves out pods that have ended. Of the other pods, it takes the
// oldest one for which the GPUs that the controller chose are available.
//
// The kubelet and the informer both watch the API server, and the kubelet may see a pod first. On a
// busy node, the informer may be seconds behind, and longer while it connects to the API server
// again. So if the kubelet lists a pod that the informer does not have, Decider reads the node's pods
// from the API server. It does not wait for the informer instead, because nobody can say how long
// that takes. The kubelet does not tell the UIDs of its pods. So Decider cannot see that a pod was
// deleted without a grace period and created again with the same name, until the informer has seen
// it.
//
// The kubelet can answer the query of its pod resources API while it waits for this device
// plugin, because its device manager releases its lock during calls of device plugins.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/devicemanager/manager.go#L1030
type Decider struct {
	Pods Pods
	List func(context.Context) ([]*podresources.PodResources, error) // queries the kubelet's pod resources API
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
	available, must []string // the IDs of free devices, and those of them that the kubelet requires
	count           int
}

func asRequest(resource string, r *pluginapi.ContainerPreferredAllocationRequest) request {
	return request{resource, r.AvailableDeviceIDs, r.MustIncludeDeviceIDs, int(r.AllocationSize)}
}

// decision has the devices that the controller chose for the container of a request. The field
// `ids` is nil if the controller chose none, or if they are not available. In this case, the other
// fields have devices that choose must avoid.
type decision struct {
	ids []string
	// others has the GPUs that the controller chose for pods that have not ended.
	others map[string]bool
	// held has the GPUs, shares and slices that the kubelet lists for containers. The kubelet can
	// offer such a device nevertheless: if it answers a query of its pod resources API while it
	// allocates the device, it may later count the device as free.
	// Source: https://github.com/kubernetes/kubernetes/pull/137534
	held map[string]bool
}

// decide finds the container of a request, and the devices that the controller chose for it. A
// nil Decider returns an empty decision. decide takes at most decideTimeout.
func (d *Decider) decide(ctx context.Context, r request) decision {
	if d == nil {
		return decision{}
	}
	ctx, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	listed, err := d.List(ctx)
	if err != nil {
		d.Log.Error(err, "cannot determine which pod the kubelet admits; "+consequence, "resource", r.resource)
	}
	held := heldDevices(listed)
	r.available = slices.DeleteFunc(slices.Clone(r.available), func(id string) bool { return held[id] })
	pods := d.Pods.All()
	if ids := d.find(pods, listed, r); ids != nil {
		return decision{ids: ids}
	}
	if !allKnown(pods, listed) {
		if read, err := d.Pods.Read(ctx); err != nil {
			d.Log.Error(err, "cannot read the pod that the kubelet admits; "+consequence, "resource", r.resource)
		} else if ids := d.find(read, listed, r); ids != nil {
			return decision{ids: ids}
		} else {
			pods = read
		}
	}
	d.report(pods, listed, r)
	return decision{others: decided(pods), held: held}
}

// report logs the decisions for pending pods that cannot be carried out because the kubelet does not
// offer the GPUs. It leaves out init containers, which may already have their GPUs, because the
// kubelet does not list these.
func (d *Decider) report(pods []*corev1.Pod, listed []*podresources.PodResources, r request) {
	for _, c := range candidates(pods, listed, r) {
		isInit := slices.ContainsFunc(c.pod.Spec.InitContainers, func(i corev1.Container) bool { return i.Name == c.container })
		if own := decidedOn(c.pod, c.container); len(own) > 0 && !isInit && c.pod.Status.Phase == corev1.PodPending {
			d.Log.Info("the kubelet does not offer the GPUs that the controller decided on; "+consequence,
				"pod", nameOf(c.pod).String(), "container", c.container, "decided", own, "offered", r.available)
		}
	}
}

// find returns the devices that the controller chose for the container of a request. It returns nil
// if the controller chose none for any container that matches, or if they are not available.
func (d *Decider) find(pods []*corev1.Pod, listed []*podresources.PodResources, r request) []string {
	for _, c := range candidates(pods, listed, r) {
		if ids := c.devices(r); ids != nil {
			d.Log.V(2).Info("chose the decided GPUs", "pod", nameOf(c.pod).String(), "container", c.container, "resource", r.resource, "devices", ids)
			return ids
		}
	}
	return nil
}

// decided returns the GPUs that the controller chose for pods that have not ended.
func decided(pods []*corev1.Pod) map[string]bool {
	all := map[string]bool{}
	for _, pod := range pods {
		if !v1alpha1.Ended(pod) {
			for _, id := range decidedOn(pod, "") {
				all[id] = true
			}
		}
	}
	return all
}

// heldDevices returns the devices of the listed containers.
func heldDevices(listed []*podresources.PodResources) map[string]bool {
	all := map[string]bool{}
	for _, pod := range listed {
		for _, id := range devicesOf(pod).Devices {
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

// candidates returns those containers of the listed pods that may be the container of the request.
// The oldest pod comes first, and the containers of a pod are in the order in which the kubelet
// admits them.
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

// allKnown reports whether the informer already has every pod that the kubelet may be admitting. If
// the informer's pod has ended or is being deleted, the listed pod may be a new pod with the same
// name, which the informer does not have yet. In this case, allKnown returns false.
func allKnown(pods []*corev1.Pod, listed []*podresources.PodResources) bool {
	known := map[types.NamespacedName]bool{}
	for _, pod := range pods {
		known[nameOf(pod)] = !isEnding(pod)
	}
	return !slices.ContainsFunc(listed, func(p *podresources.PodResources) bool {
		return !known[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
	})
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func byAge(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }

// isEnding reports whether a pod can no longer be admitted.
func isEnding(pod *corev1.Pod) bool { return v1alpha1.Ended(pod) || pod.DeletionTimestamp != nil }

// holds reports whether a container has devices of a resource, according to the kubelet's list. It
// is false for init containers other than sidecars, because the kubelet does not list them.
func holds(pod *podresources.PodResources, container, resource string) bool {
	for _, c := range pod.Containers {
		if c.Name == container && slices.ContainsFunc(c.Devices, func(d *podresources.ContainerDevices) bool { return d.ResourceName == resource }) {
			return true
		}
	}
	return false
}

// devices returns the devices for the container. It returns nil in two cases: the controller chose
// no GPUs for the container, or too few of the GPUs chosen for the pod are available. The result
// lists first the devices that the kubelet requires, then the GPUs that the controller chose for
// the container, then the GPUs that it chose for other containers of the pod. The GPUs of the other
// containers are needed because the kubelet does not know the controller's choice: it gives the
// devices of an init container to any later container of the pod. So another container of the pod
// may already have a GPU that was chosen for this container, and this container then gets the other
// one's GPU.
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

// decidedOn returns the GPUs that the controller chose for the named container of a pod. If the name
// is "", it returns those for all containers of the pod. If the pod's placement is invalid,
// decidedOn returns none, because the agent rejects the pod.
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

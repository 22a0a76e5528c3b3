package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// asker is a container for which the kubelet may be asking.
type asker struct {
	pod       *corev1.Pod
	container string
}

// askers returns those of the pods listed, the oldest pod's first and each pod's
// in the order in which the kubelet admits them.
func askers(pods []*corev1.Pod, listed []*podresources.PodResources, r request) []asker {
	now := map[types.NamespacedName]*podresources.PodResources{}
	for _, p := range listed {
		now[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	}
	var found []asker
	for _, pod := range slices.SortedStableFunc(slices.Values(pods), byAge) {
		has := now[nameOf(pod)]
		if has == nil || leaves(pod) {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			limit := c.Resources.Limits[corev1.ResourceName(r.resource)]
			if limit.Value() == int64(r.count) && !holds(has, c.Name, r.resource) {
				found = append(found, asker{pod, c.Name})
			}
		}
	}
	return found
}

// allKnown reports whether no pod listed without devices of a resource is yet to be
// heard of. One of the name of a pod that ended, or is being deleted, may be another.
func allKnown(pods []*corev1.Pod, listed []*podresources.PodResources, resource string) bool {
	known := map[types.NamespacedName]bool{}
	for _, pod := range pods {
		known[nameOf(pod)] = !leaves(pod)
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

// leaves reports whether a pod is not admitted any more.
func leaves(pod *corev1.Pod) bool { return v1alpha1.Ended(pod) || pod.DeletionTimestamp != nil }

// holds reports whether a container has devices of a resource. Init containers are
// not listed, and so seem to have none.
func holds(pod *podresources.PodResources, container, resource string) bool {
	for _, c := range pod.Containers {
		if c.Name == container && slices.ContainsFunc(c.Devices, func(d *podresources.ContainerDevices) bool { return d.ResourceName == resource }) {
			return true
		}
	}
	return false
}

// decided returns what the container is to get, or nil: what must be, then its own
// GPUs, then others of its pod, for what an init container had the kubelet gives
// to any container after it.
func (a asker) decided(r request) []string {
	own := decidedOn(a.pod, a.container)
	if len(own) == 0 {
		return nil
	}
	ids := slices.Clone(r.must)
	for _, id := range slices.Concat(own, decidedOn(a.pod, "")) {
		if len(ids) < r.count && slices.Contains(r.available, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) != r.count {
		return nil
	}
	return ids
}

// decidedOn returns the GPUs that were decided on for a container of a pod, or for
// all of them. What cannot be read decides nothing; the agent refuses it.
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

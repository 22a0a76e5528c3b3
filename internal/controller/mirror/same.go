package mirror

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/numalet/numalet/api/v1alpha1"
)

// samePod reports whether two versions of a pod are equal in all fields that the mirror and the
// filters read. Most status updates of kubelets change none of these fields.
func samePod(a, b *corev1.Pod) bool {
	return a.UID == b.UID && sameRequest(a, b) && a.Status.NominatedNodeName == b.Status.NominatedNodeName && v1alpha1.Ended(a) == v1alpha1.Ended(b) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && sameSize(a, b)
}

// sameRequest reports whether two versions of a pending pod are equal in all fields that the
// scheduler reads. Two of these fields are in the status: they name the resource claims that were
// created for the pod.
func sameRequest(a, b *corev1.Pod) bool {
	return sameSpec(a, b) && maps.Equal(a.Labels, b.Labels) && sameAnnotations(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Status.ResourceClaimStatuses, b.Status.ResourceClaimStatuses) &&
		equality.Semantic.DeepEqual(a.Status.ExtendedResourceClaimStatus, b.Status.ExtendedResourceClaimStatus)
}

// sameAnnotations reports whether the annotations that the mirror reads are unchanged. Other
// annotations may change often. If they counted, the queue would try the pod again at each change,
// without the usual back-off.
func sameAnnotations(a, b map[string]string) bool {
	concern := func(annotations map[string]string) map[string]string {
		read := map[string]string{}
		for key, value := range annotations {
			if strings.Contains(key, v1alpha1.Group) || strings.HasPrefix(key, "kubernetes.io/config.") {
				read[key] = value
			}
		}
		return read
	}
	return maps.Equal(a, b) || maps.Equal(concern(a), concern(b))
}

// sameSpec reports whether the spec of a pod is unchanged between two versions. It compares the
// generations, because the API server increases the generation with each change of the spec, except
// for a change of the node name. If an old API server does not set the generation of pods, sameSpec
// compares the specs.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go,
// updatePodGeneration.
func sameSpec(a, b *corev1.Pod) bool {
	if a.UID == b.UID && a.Generation > 0 && a.Generation == b.Generation {
		return a.Spec.NodeName == b.Spec.NodeName
	}
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// sameSize reports whether the resources in the status of a pod are unchanged between two versions.
// During an in-place resize, the resources in the status count as well as those in the spec (see
// the function `requests`).
func sameSize(a, b *corev1.Pod) bool {
	same := equality.Semantic.DeepEqual
	each := func(x, y corev1.ContainerStatus) bool {
		return x.Name == y.Name && same(x.AllocatedResources, y.AllocatedResources) && same(x.Resources, y.Resources)
	}
	return slices.EqualFunc(a.Status.ContainerStatuses, b.Status.ContainerStatuses, each) &&
		slices.EqualFunc(a.Status.InitContainerStatuses, b.Status.InitContainerStatuses, each) &&
		same(a.Status.AllocatedResources, b.Status.AllocatedResources) && same(a.Status.Resources, b.Status.Resources) &&
		same(resizing(a), resizing(b)) &&
		same(a.Status.NodeAllocatableResourceClaimStatuses, b.Status.NodeAllocatableResourceClaimStatuses)
}

// resizing returns the types and reasons of the conditions about an in-place resize.
func resizing(pod *corev1.Pod) (conditions []string) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodResizePending || condition.Type == corev1.PodResizeInProgress {
			conditions = append(conditions, string(condition.Type)+" "+condition.Reason)
		}
	}
	return conditions
}

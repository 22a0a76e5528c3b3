package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AnnotationConfigHash is on the API's mirror of a static pod. Its value is the
// static pod's UID, which is the only one that the node knows.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/types/pod_update.go.
const AnnotationConfigHash = "kubernetes.io/config.hash"

// NodeUID returns the UID by which the kubelet and the runtime know a pod: of a
// mirror, that of its static pod.
func NodeUID(pod *corev1.Pod) string {
	if hash := pod.Annotations[AnnotationConfigHash]; hash != "" {
		return hash
	}
	return string(pod.UID)
}

// Ended reports whether no container of the pod will run again.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

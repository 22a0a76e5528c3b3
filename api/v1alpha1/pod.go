package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AnnotationConfigHash is an annotation of a mirror pod, which is the API object for a static
// pod. The value of the annotation is the UID of the static pod. The kubelet and the container
// runtime use only this UID, and not the UID of the API object.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/types/pod_update.go.
const AnnotationConfigHash = "kubernetes.io/config.hash"

// AnnotationConfigMirror is an annotation of mirror pods. Most of Numalet's admission policies
// (deploy/admission) do not apply to a pod with this annotation, because the kubelet runs a
// static pod regardless of admission policies. Kubernetes itself lets anybody who may create
// pods set the annotation, together with spec.nodeName.
const AnnotationConfigMirror = "kubernetes.io/config.mirror"

// IsMirror reports whether a pod has the annotation of mirror pods.
func IsMirror(pod *corev1.Pod) bool {
	_, is := pod.Annotations[AnnotationConfigMirror]
	return is
}

// NodeUID returns the UID that the kubelet and the container runtime use for a pod. For a mirror
// pod, it is the UID of the static pod, from the annotation kubernetes.io/config.hash. Users can
// set this annotation to the UID of another pod. So a caller must also check that the node reports
// the pod's namespace and name for that UID.
func NodeUID(pod *corev1.Pod) string {
	if hash := pod.Annotations[AnnotationConfigHash]; hash != "" && IsMirror(pod) {
		return hash
	}
	return string(pod.UID)
}

// Ended reports whether no container of the pod will run again.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AnnotationConfigHash is an annotation of a mirror pod. Its value is the UID of the
// static pod, which is the only one that the kubelet and the runtime use.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/types/pod_update.go.
const AnnotationConfigHash = "kubernetes.io/config.hash"

// AnnotationConfigMirror is an annotation of mirror pods. The admission policies do not apply
// to a pod that has it, because the kubelet runs a static pod regardless of them. Anybody who
// may create pods may set it beside spec.nodeName.
const AnnotationConfigMirror = "kubernetes.io/config.mirror"

// IsMirror reports whether a pod says that it is a mirror pod.
func IsMirror(pod *corev1.Pod) bool {
	_, is := pod.Annotations[AnnotationConfigMirror]
	return is
}

// NodeUID returns the UID that the kubelet and the runtime use for a pod. For a mirror
// pod it is that of the static pod. Anybody can set the annotation to the UID of another
// pod: only a pod whose namespace and name the node reports, too, is the one with that UID.
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

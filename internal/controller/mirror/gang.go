package mirror

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// gangID returns the ID of the gang that a pod is of, "" for none: gangs of one name in
// two namespaces are two.
func gangID(pod *corev1.Pod) string {
	name := pod.Labels[v1alpha1.LabelGang]
	if name == "" {
		return ""
	}
	return pod.Namespace + "/" + name
}

// ownerOf returns the UID of what controls a pod, "" for a bare one.
func ownerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// gangOf returns the gang that a pending pod is of, nil for none, with its minimum as
// Need. A pod with one of the label and the annotation lacks the other.
func gangOf(pod *corev1.Pod) (*sched.Gang, error) {
	id := gangID(pod)
	least, says := pod.Annotations[v1alpha1.AnnotationGangMinAvailable]
	switch {
	case id == "" && !says:
		return nil, nil
	case id == "":
		return nil, fmt.Errorf("the pod has the annotation %s and no label %s, which names the gang; set both or none", v1alpha1.AnnotationGangMinAvailable, v1alpha1.LabelGang)
	case !says:
		return nil, fmt.Errorf("the pod is of gang %s and has no annotation %s, which says how many of its pods start together; set both or none", id, v1alpha1.AnnotationGangMinAvailable)
	}
	need, err := strconv.Atoi(least)
	if err != nil || need < 1 {
		return nil, fmt.Errorf("annotation %s is %q: want how many pods of gang %s start together, such as 4", v1alpha1.AnnotationGangMinAvailable, least, id)
	}
	return &sched.Gang{ID: id, Owner: ownerOf(pod), Need: need}, nil
}

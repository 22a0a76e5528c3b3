package mirror

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// gangID returns the ID of a pod's gang, or "". The ID contains the namespace, because gangs in
// different namespaces may have the same name.
func gangID(pod *corev1.Pod) string {
	name := pod.Labels[v1alpha1.LabelGang]
	if name == "" {
		return ""
	}
	return pod.Namespace + "/" + name
}

// ownerOf returns the UID of the object that controls a pod (such as a Job), or "" if there is
// none.
func ownerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// gangOf returns the gang of a pending pod, or nil if the pod has none. A label of the pod names
// the gang, and an annotation says how many pods of the gang must start together. gangOf returns an
// error if the pod has only the label or only the annotation. It also returns an error for a pod
// that is in a Kubernetes PodGroup (spec.schedulingGroup) and does not have the label. If the pods
// of PodGroups were placed one by one, two groups could wait for each other forever.
func gangOf(pod *corev1.Pod) (*sched.Gang, error) {
	id := gangID(pod)
	if group := pod.Spec.SchedulingGroup; group != nil && id == "" {
		return nil, fmt.Errorf("the pod belongs to PodGroup %s by spec.schedulingGroup, which the controller does not read, so it cannot start the group's pods together; name the group in the label %s and its size in the annotation %s, or leave the pod to kube-scheduler",
			ptr.Deref(group.PodGroupName, ""), v1alpha1.LabelGang, v1alpha1.AnnotationGangMinAvailable)
	}
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

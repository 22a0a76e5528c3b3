package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// ofForeignGangs selects pods of gangs that do not belong to a Job of Numalet. Such a Job
// lowers the minimum in its pods' annotations itself, because it also counts pods that
// were deleted.
const ofForeignGangs = v1alpha1.LabelGang + ",!" + v1alpha1.LabelJob

// Successes is notified of each pod of a gang that has succeeded, with the gang's ID and
// the UID of the pod's owner, and of its deletion.
type Successes interface {
	Succeeded(uid, gang, owner string)
	Forgotten(uid string)
}

// NewSucceeded returns an informer that notifies s of succeeded pods of gangs that do not
// belong to a Job of Numalet. Pods without an owner are skipped, because no controller replaces
// them. It also returns whether s was notified of the initial list.
func NewSucceeded(client kubernetes.Interface, s Successes, report Panicked) (cache.SharedIndexInformer, cache.InformerSynced, error) {
	set := func(pod *corev1.Pod) {
		if gang, owner := gangID(pod), ownerOf(pod); gang != "" && owner != "" && pod.Status.Phase == corev1.PodSucceeded {
			s.Succeeded(string(pod.UID), gang, owner)
		}
	}
	which := metav1.ListOptions{FieldSelector: "status.phase=Succeeded", LabelSelector: ofForeignGangs}
	return newEnded(client, which, Handle(set, func(pod *corev1.Pod) { s.Forgotten(string(pod.UID)) }), report)
}

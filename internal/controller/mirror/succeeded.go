package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// ofForeignGangs selects pods of gangs but those of our Jobs. A Job lowers what its
// pods' annotations say instead: it knows of those, too, that were deleted since.
const ofForeignGangs = v1alpha1.LabelGang + ",!" + v1alpha1.LabelJob

// Successes are told of each pod of a gang that has succeeded, with the gang's ID and
// the UID of its owner, and when that pod is gone.
type Successes interface {
	Succeeded(uid, gang, owner string)
	Forgotten(uid string)
}

// NewSucceeded returns an informer that tells of the pods that have succeeded, of gangs
// that are not our Jobs'; of bare pods it does not, for of these none comes in the place
// of another. What it returns beside that reports whether all were told of that there
// were at first.
func NewSucceeded(client kubernetes.Interface, s Successes) (cache.SharedIndexInformer, cache.InformerSynced, error) {
	set := func(pod *corev1.Pod) {
		if gang, owner := gangID(pod), ownerOf(pod); gang != "" && owner != "" && pod.Status.Phase == corev1.PodSucceeded {
			s.Succeeded(string(pod.UID), gang, owner)
		}
	}
	which := metav1.ListOptions{FieldSelector: "status.phase=Succeeded", LabelSelector: ofForeignGangs}
	return newEnded(client, which, Handle(set, func(pod *corev1.Pod) { s.Forgotten(string(pod.UID)) }))
}

package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// ofForeignGangs is a label selector for pods that are in a gang but belong to no Job of Numalet
// (numalet.dev). Pods of Numalet's Jobs are left out, because the operator of these Jobs handles
// successes by itself. When a pod succeeds, the operator lowers the gang size in the annotations
// of the Job's pending pods. The operator also counts succeeded pods that were deleted.
const ofForeignGangs = v1alpha1.LabelGang + ",!" + v1alpha1.LabelJob

// Successes is notified when a pod of a gang has succeeded, and when a succeeded pod is deleted.
// `gang` is the ID of the gang, and `owner` is the UID of the object that controls the pod.
type Successes interface {
	Succeeded(uid, gang, owner string)
	Forgotten(uid string)
}

// NewSucceeded returns an informer that notifies s of succeeded pods of gangs. It leaves out pods
// of Numalet's Jobs (see ofForeignGangs). It also leaves out pods that no object controls. The
// queue subtracts succeeded pods from the number of pods that a gang needs to start. This matters
// only if a new pod joins the gang later, in place of a failed pod. Only a controller creates such
// a pod, so successes of pods without a controller do not matter. The second result reports whether
// s was notified of all pods in the initial list.
func NewSucceeded(client kubernetes.Interface, s Successes, report Panicked) (cache.SharedIndexInformer, cache.InformerSynced, error) {
	set := func(pod *corev1.Pod) {
		if gang, owner := gangID(pod), ownerOf(pod); gang != "" && owner != "" && pod.Status.Phase == corev1.PodSucceeded {
			s.Succeeded(string(pod.UID), gang, owner)
		}
	}
	which := metav1.ListOptions{FieldSelector: "status.phase=Succeeded", LabelSelector: ofForeignGangs}
	return newEnded(client, which, Handle(set, func(pod *corev1.Pod) { s.Forgotten(string(pod.UID)) }), report)
}

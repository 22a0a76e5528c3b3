package podwriter

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// TestConditionNeedsVersion checks that the patch with a pod's condition applies only to the newest
// version of the pod that this process has seen. If this version has a node, or the pod is gone, no
// patch must be sent. Otherwise a late patch could overwrite the condition that the API server sets
// with a Binding. The test also checks that a patch is sent again if the API server refuses it.
func TestConditionNeedsVersion(t *testing.T) {
	pods := corev1.Resource("pods")
	conflict, broken := apierrors.NewConflict(pods, "a", errors.New("modified")), apierrors.NewInternalError(errors.New("etcd"))
	seen := func(version string, uid types.UID, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: uid, ResourceVersion: version}, Spec: corev1.PodSpec{NodeName: node}}
	}
	for name, tc := range map[string]struct {
		seen    []*corev1.Pod // the newest version of the pod after 0, 1, … patches; after more patches, the last element
		answers []error       // answers to the tries
		forget  bool          // whether Reporter.Forget is called before the second try, as for a pod that is bound or gone
		want    []string      // resource versions in the patches
	}{
		"pending":                  {seen: []*corev1.Pod{seen("7", "uid-a", "")}, want: []string{"7"}},
		"gone":                     {seen: []*corev1.Pod{nil}},
		"another one":              {seen: []*corev1.Pod{seen("7", "anew", "")}},
		"bound":                    {seen: []*corev1.Pod{seen("7", "uid-a", "n1")}},
		"modified":                 {seen: []*corev1.Pod{seen("7", "uid-a", ""), seen("8", "uid-a", "")}, answers: []error{conflict}, want: []string{"7", "8"}},
		"modified: it is bound":    {seen: []*corev1.Pod{seen("7", "uid-a", ""), seen("8", "uid-a", "n1")}, answers: []error{conflict}, want: []string{"7"}},
		"500 twice":                {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: []error{broken, broken}, want: []string{"7", "7", "7"}},
		"500, and then it is gone": {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: []error{broken}, forget: true, want: []string{"7"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				var mu sync.Mutex
				var got []string
				w.newest = func(string, string) *corev1.Pod {
					mu.Lock()
					defer mu.Unlock()
					return tc.seen[min(len(got), len(tc.seen)-1)]
				}
				w.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
					mu.Lock()
					defer mu.Unlock()
					_, version, _ := strings.Cut(string(action.(clienttesting.PatchAction).GetPatch()), `"resourceVersion":"`)
					version, _, _ = strings.Cut(version, `"`)
					if got = append(got, version); len(got) <= len(tc.answers) {
						return true, nil, tc.answers[len(got)-1]
					}
					return true, &corev1.Pod{}, nil
				})
				w.Unschedulable(pod("a"))
				time.Sleep(1500 * time.Millisecond) // the explanation takes a second
				if tc.forget {
					w.Forget("uid-a")
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("versions in the patches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

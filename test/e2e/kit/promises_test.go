package kit

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/numalet/numalet/api/v1alpha1"
)

// told is one line of a watch: a pod with CPUs of NUMA node 0 and 1 of node n.
func told(kind watch.EventType, name string, on0, on1 int, phase corev1.PodPhase) watch.Event {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: corev1.PodStatus{Phase: phase}}
	if on0+on1 > 0 {
		pod.Spec.NodeName = "n"
		pod.Annotations = map[string]string{v1alpha1.AnnotationPlacement: fmt.Sprintf(`{"version":1,"containers":{"a":{"cpus":{"0":%d}},"b":{"cpus":{"1":%d}}}}`, on0, on1)}
	}
	return watch.Event{Type: kind, Object: pod}
}

func TestPromises(t *testing.T) {
	const waits, runs = corev1.PodPending, corev1.PodRunning
	for name, tc := range map[string]struct {
		events []watch.Event
		bound  int
		want   string // of the last event's error
	}{
		"fits": {[]watch.Event{
			told(watch.Added, "a", 0, 0, waits), told(watch.Modified, "a", 1, 2, waits), told(watch.Modified, "a", 1, 2, runs),
			told(watch.Added, "b", 1, 2, waits),
		}, 2, ""},
		"too many": {[]watch.Event{told(watch.Added, "a", 1, 3, runs), told(watch.Added, "b", 1, 2, waits)}, 2,
			"5 CPUs of NUMA node 1 of n are promised, which has 4: [a map[0:1 1:3] b map[0:1 1:2]]"},
		"gone before": {[]watch.Event{
			told(watch.Added, "a", 1, 3, runs), told(watch.Deleted, "a", 1, 3, runs), told(watch.Added, "b", 2, 4, waits),
		}, 2, ""},
		"ended before": {[]watch.Event{
			told(watch.Added, "a", 1, 3, runs), told(watch.Modified, "a", 1, 3, corev1.PodFailed), told(watch.Added, "b", 2, 4, waits),
		}, 2, ""},
		"no watch": {[]watch.Event{{Type: watch.Error, Object: &metav1.Status{Message: "too old"}}}, 0, "the watch says ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Promises{Room: map[string]map[int]int{"n": {0: 2, 1: 4}}}
			var err error
			for _, e := range tc.events {
				err = p.See(e)
			}
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) || p.Bound != tc.bound {
				t.Errorf("%d bound, %v; want %d, %q", p.Bound, err, tc.bound, tc.want)
			}
		})
	}
}

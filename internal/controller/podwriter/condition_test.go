package podwriter

import (
	"errors"
	"slices"
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
		then    func(*world)  // what happens after the first try, and half a second before the second one
		want    []string      // resource versions in the patches
	}{
		"pending":                  {seen: []*corev1.Pod{seen("7", "uid-a", "")}, want: []string{"7"}},
		"gone":                     {seen: []*corev1.Pod{nil}},
		"another one":              {seen: []*corev1.Pod{seen("7", "anew", "")}},
		"bound":                    {seen: []*corev1.Pod{seen("7", "uid-a", "n1")}},
		"modified":                 {seen: []*corev1.Pod{seen("7", "uid-a", ""), seen("8", "uid-a", "")}, answers: []error{conflict}, want: []string{"7", "8"}},
		"modified: it is bound":    {seen: []*corev1.Pod{seen("7", "uid-a", ""), seen("8", "uid-a", "n1")}, answers: []error{conflict}, want: []string{"7"}},
		"500 twice":                {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: []error{broken, broken}, want: []string{"7", "7", "7"}},
		"500, and then it is gone": {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: []error{broken}, then: func(w *world) { w.Forget("uid-a") }, want: []string{"7"}},
		"500, and then it fails again": {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: []error{broken}, then: func(w *world) {
			time.Sleep(time.Second) // the second try now waits in the queue, because Run pauses after an explanation
			w.Unschedulable(pod("a"))
		}, want: []string{"7", "7"}},
		"500, and then it is nearly bound": {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: []error{broken}, then: func(w *world) {
			time.Sleep(time.Second)
			w.suppress("uid-a")
			time.Sleep(time.Minute)
			w.Unschedulable(pod("a"))
		}, want: []string{"7", "7"}},
		"500 for a minute, in which it fails often": {seen: []*corev1.Pod{seen("7", "uid-a", "")}, answers: slices.Repeat([]error{broken}, 5), then: func(w *world) {
			for range 20 {
				w.Unschedulable(pod("a"))
				time.Sleep(3 * time.Second)
			}
		}, want: slices.Repeat([]string{"7"}, 6)},
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
				if tc.then != nil {
					tc.then(w)
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

// TestReportOfFormerProcess checks what is written about a pod whose condition was written by another
// process, such as a former leader. If the message is still true, nothing must be written until
// repeatAfter has passed: otherwise a restart would write the conditions and events of all waiting
// pods again, while pods are being bound.
func TestReportOfFormerProcess(t *testing.T) {
	const full = "0/3 nodes are available: 3 Insufficient cpu. (a)"
	event, status := "event Warning FailedScheduling Scheduling by numalet-scheduler on a: "+full, "status of a: "+full
	condition := func(kind corev1.PodConditionType, is corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: is, Reason: reason, Message: message}
	}
	for name, tc := range map[string]struct {
		says corev1.PodCondition // the condition that the pod has
		want []string            // what the first report writes
	}{
		"the same": {
			says: condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, full),
		},
		"another message": {
			says: condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/2 nodes are available."),
			want: []string{event, status},
		},
		"another reason": {
			says: condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulerError, full),
			want: []string{event, status},
		},
		"another type": {
			says: condition(corev1.PodInitialized, corev1.ConditionFalse, corev1.PodReasonUnschedulable, full),
			want: []string{event, status},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.newest = func(string, string) *corev1.Pod {
					now, err := w.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
					if err != nil {
						t.Error(err)
					}
					now.Status.Conditions = append(now.Status.Conditions, tc.says)
					return now
				}
				w.Unschedulable(pod("a"))
				time.Sleep(time.Minute)
				check(t, w, tc.want...)
				if got := w.LastReport("uid-a"); got != full {
					t.Errorf("the last report is %q, want %q", got, full)
				}
				if tc.want != nil {
					return
				}
				w.Unschedulable(pod("a"))
				time.Sleep(repeatAfter)
				w.Unschedulable(pod("a"))
				time.Sleep(time.Minute)
				check(t, w, event)
			})
		})
	}
}

// TestTransitionTime checks that the condition PodScheduled keeps the time at which its status became
// False, while only its message changes.
func TestTransitionTime(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.newest = func(string, string) *corev1.Pod {
			now, err := w.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Error(err)
			}
			return now
		}
		var times []time.Time
		for _, why := range []string{"first", "second"} {
			w.Refused(pod("a"), errors.New(why))
			time.Sleep(time.Minute)
			now := w.newest("default", "a")
			if len(now.Status.Conditions) != 1 || now.Status.Conditions[0].Message != why {
				t.Fatalf("conditions %+v, want one that says %q", now.Status.Conditions, why)
			}
			times = append(times, now.Status.Conditions[0].LastTransitionTime.Time)
		}
		if !times[0].Equal(times[1]) {
			t.Errorf("the transition times are %v, want equal ones", times)
		}
	})
}

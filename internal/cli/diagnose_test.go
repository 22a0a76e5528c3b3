package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/numalet/numalet/internal/controller/queueapi"
)

// TestUnqueued checks which causes "numalet why" shows for a pod about which the queue API says
// nothing, and in which order.
func TestUnqueued(t *testing.T) {
	const forbidden, away, full = "the queue API is not installed, or you may not read it", "the controller does not answer: none runs or leads, or its queue API is not installed", "too little cpu is free on a node that suits otherwise"
	pods := schema.GroupResource{Group: queueapi.Group, Resource: queueapi.Resource}
	refused := apierrors.NewForbidden(pods, "a", errors.New("no"))
	profile := func(name string) string {
		return "the scheduler " + name + " places the pod, which is Numalet's only if an administrator has chosen this name"
	}
	for name, tc := range map[string]struct {
		asked              error // how the queue API answered
		scheduler, message string
		want               []string // causes
	}{
		"not in the queue":          {apierrors.NewNotFound(pods, "a"), schedulerName, "", []string{"the pod is not in the queue"}},
		"no queue API":              {fmt.Errorf("%w: 503", queueapi.ErrNoAPI), schedulerName, "", []string{away}},
		"no permission":             {refused, schedulerName, "", []string{forbidden}},
		"no permission, no room":    {refused, schedulerName, "0/1 nodes are available: 1 Insufficient cpu.", []string{forbidden, full}},
		"another name of a profile": {apierrors.NewNotFound(pods, "a"), "batch", "0/1 nodes are available: 1 Insufficient cpu.", []string{full, profile("batch")}},
		"another scheduler":         {apierrors.NewNotFound(pods, "a"), "elsewhere", "", []string{profile("elsewhere")}},
	} {
		t.Run(name, func(t *testing.T) {
			if !unexplained(tc.asked) {
				t.Fatalf("the pod itself is not looked at after %v", tc.asked)
			}
			pod := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: tc.scheduler}}
			if tc.message != "" {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: tc.message}}
			}
			var got []string
			for _, a := range unqueued(pod, unanswered(tc.asked), time.Now()).Status.Advice {
				got = append(got, a.Cause)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVisibleQueue checks that the web page shows the pods of one namespace only if the user may not
// list those of all namespaces, and not after any other error.
func TestVisibleQueue(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: queueapi.Resource}, "", errors.New("no"))
	for name, tc := range map[string]struct {
		answer  error // to the list of all namespaces
		want    queueOf
		wantErr bool
	}{
		"all namespaces": {nil, queueOf{"", []queueapi.PendingPod{{}, {}}}, false},
		"no permission":  {forbidden, queueOf{"team", []queueapi.PendingPod{{}}}, false},
		"busy":           {apierrors.NewTooManyRequests("later", 1), queueOf{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := visibleQueue(t.Context(), func(_ context.Context, namespace string) ([]queueapi.PendingPod, error) {
				switch {
				case namespace != "":
					return make([]queueapi.PendingPod, 1), nil
				case tc.answer != nil:
					return nil, tc.answer
				}
				return make([]queueapi.PendingPod, 2), nil
			}, "team")
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.wantErr {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

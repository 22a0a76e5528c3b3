package jobs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/pkg/jobplan"
)

func TestPodOf(t *testing.T) {
	made := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	ended := made.Add(time.Hour)
	for name, tc := range map[string]struct {
		status string
		want   jobplan.Pod
	}{
		"waits": {`{phase: Pending}`, jobplan.Pod{State: jobplan.Waiting, Ended: made}},
		"ready": {`{phase: Running, conditions: [{type: Ready, status: "True"}]}`, jobplan.Pod{State: jobplan.Running, Ready: true, Ended: made}},
		"killed": {
			`{phase: Failed, containerStatuses: [{name: main, restartCount: 2, state: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-01-01T09:00:00Z"}}}]}`,
			jobplan.Pod{State: jobplan.Failed, Started: true, Restarts: 2, Ended: ended, Why: "container main ended with exit code 137 (OOMKilled)"},
		},
		"init container fails": {
			`{phase: Failed, initContainerStatuses: [{name: fetch, state: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-01-01T09:00:00Z"}}}],
			  containerStatuses: [{name: main, state: {waiting: {reason: PodInitializing}}}]}`,
			jobplan.Pod{State: jobplan.Failed, Started: true, Ended: ended, Why: "container fetch ended with exit code 1 (Error)"},
		},
		"evicted": {
			`{phase: Failed, reason: Evicted, message: the node was low on memory, conditions: [{type: DisruptionTarget, status: "True", lastTransitionTime: "2026-01-01T09:00:00Z"}],
			  containerStatuses: [{name: main, state: {terminated: {exitCode: 137, reason: Error, finishedAt: "2026-01-01T09:00:00Z"}}}]}`,
			jobplan.Pod{State: jobplan.Disrupted, Started: true, Ended: ended, Why: "the node was low on memory"},
		},
		"not admitted": {`{phase: Failed, reason: OutOfcpu}`, jobplan.Pod{State: jobplan.Disrupted, Ended: made, Why: "OutOfcpu"}},
		"the clock of its node is a day ahead": {
			`{phase: Failed, conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T08:00:10Z"}, {type: Ready, status: "False", lastTransitionTime: "2026-01-02T09:00:00Z"}],
			  containerStatuses: [{name: main, state: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-01-02T09:00:00Z"}}}]}`,
			jobplan.Pod{State: jobplan.Failed, Started: true, Ended: made.Add(10 * time.Second), Why: "container main ended with exit code 1 (Error)"},
		},
		"the clock of its node is a little ahead": {
			`{phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-01-01T09:02:00Z"}}}]}`,
			jobplan.Pod{State: jobplan.Failed, Started: true, Ended: ended.Add(2 * time.Minute), Why: "container main ended with exit code 1 (Error)"},
		},
		"its own deadline": {`{phase: Failed, reason: DeadlineExceeded}`, jobplan.Pod{State: jobplan.Failed, Ended: made, Why: "DeadlineExceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}}
			if err := yaml.UnmarshalStrict([]byte(tc.status), &pod.Status); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, podOf(0, pod, ended.Add(time.Minute))); diff != "" {
				t.Errorf("podOf (-want +got):\n%s", diff)
			}
		})
	}
}

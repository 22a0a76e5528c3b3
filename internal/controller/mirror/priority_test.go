package mirror

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestPriority checks that the priority of a pod is passed to the queue only if Env.Priority is
// set.
func TestPriority(t *testing.T) {
	for name, tc := range map[string]struct {
		counts   bool
		priority *int32
		want     int32
	}{
		"counts":     {true, ptr.To(int32(7)), 7},
		"no class":   {true, nil, 0},
		"counts not": {false, ptr.To(int32(7)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			var got queue.Entry
			s.mirror.env.Priority, s.mirror.env.Pending = tc.counts, func(e queue.Entry) { got = e }
			pod := podOf("a", scenario.Words{"cpu=1"})
			pod.Spec.Priority = tc.priority
			s.mirror.SetPod(pod)
			if got.Pod == nil || got.Priority != tc.want {
				t.Errorf("queued with priority %d, want %d: %+v", got.Priority, tc.want, got)
			}
		})
	}
}

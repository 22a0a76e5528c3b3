package mirror

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestEnds checks which end the state of the nodes has for a bound pod. If the pod has
// activeDeadlineSeconds, this is the latest time at which the pod can end. Otherwise there is none.
func TestEnds(t *testing.T) {
	s := newScene(t)
	m, ends := s.mirror, func(uid string) (end time.Time) {
		if a := s.state.Assignment(uid); a != nil {
			end = a.Ends
		}
		return end
	}
	for name, seconds := range map[string]*int64{"limited": ptr.To(int64(60)), "endless": nil} {
		pod := podOf(name, scenario.Words{"node=n1", "since=1000"})
		pod.Spec.ActiveDeadlineSeconds = seconds
		m.SetPod(pod)
	}
	if got := ends("uid-limited"); !got.Equal(time.Unix(1060, 0)) {
		t.Errorf("limited ends %v, want second 1060", got)
	}
	if got := ends("uid-endless"); !got.IsZero() {
		t.Errorf("endless ends %v, want nobody to know", got)
	}
	m.RemovePod(podOf("limited", scenario.Words{"node=n1"}))
	if got := ends("uid-limited"); !got.IsZero() {
		t.Errorf("what is gone ends %v", got)
	}
}

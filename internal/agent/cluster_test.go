package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReadyFollowsTheLabel checks that the condition Ready of the NodeTopology is true only
// if the node has the label numalet.dev/exclusive-cpus.
func TestReadyFollowsTheLabel(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		marked *bool
		off    bool
		want   string
	}{
		"not known yet": {nil, false, "Unknown Starting"},
		"served":        {&yes, false, "True Serving"},
		"runtime away":  {&no, false, "False RuntimeNotServed"},
		"switched off":  {&no, true, "False SwitchedOff"},
	} {
		t.Run(name, func(t *testing.T) {
			var a agent
			a.cfg.ExclusiveCPUs = !tc.off
			a.marked.Store(tc.marked)
			c := a.ready()
			if c.Message == "" || c.LastTransitionTime == (metav1.Time{}) {
				t.Errorf("condition %v lacks its message or its time", c)
			}
			if diff := cmp.Diff(tc.want, string(c.Status)+" "+c.Reason); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

package kubeapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// TestRecorder checks that a note is cut only if it is longer than maxNote bytes, and then between
// two characters.
func TestRecorder(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for name, c := range map[string]struct{ note, want string }{
		"short":                {"100 % full", "100 % full"},
		"as long as it may be": {a(maxNote), a(maxNote)},
		"too long":             {a(maxNote + 1), a(maxNote-4) + " ..."},
		"cut before ü":         {a(maxNote-5) + "üaaaaaa", a(maxNote-5) + " ..."},
		"cut after ü":          {a(maxNote-6) + "üaaaaaa", a(maxNote-6) + "ü ..."},
	} {
		t.Run(name, func(t *testing.T) {
			fake := events.NewFakeRecorder(1)
			Recorder{fake}.Eventf(&corev1.Pod{}, nil, corev1.EventTypeWarning, "Reason", "Action", "%s", c.note)
			if diff := cmp.Diff("Warning Reason "+c.want, <-fake.Events); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

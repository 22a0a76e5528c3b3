package queue

import "testing"

// TestPermitChanged checks that Permit refuses a pod whose request has changed since
// Poll returned it, so that the pod is not placed with its old request.
func TestPermitChanged(t *testing.T) {
	s := newScene(Options{})
	s.arrive("a", "ann", "T4", 1, 0)
	before := s.Poll()
	s.arrive("a", "ann", "T4", 2, 0)
	if ok, _ := s.Permit(before); ok {
		t.Error("the pod may be placed with its former request")
	}
	after := s.Poll()
	if ok, _ := s.Permit(after); !ok || after.GPUs.Count != 2 {
		t.Errorf("permitted: %v, GPUs %d, want 2", ok, after.GPUs.Count)
	}
}

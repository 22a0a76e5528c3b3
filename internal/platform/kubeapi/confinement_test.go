package kubeapi

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestConfinement checks what Ready returns after each of a series of answers of the API
// server to the request that the admission policies must refuse.
func TestConfinement(t *testing.T) {
	refused := errors.New(`configmaps "a" is forbidden: ValidatingAdmissionPolicy 'numalet-controller-objects' denied request: no`)
	var answer error
	c := NewConfinement(ConfinementOptions{Try: func(context.Context) error { return answer }})
	if c.Ready() == nil {
		t.Error("ready before the first check")
	}
	for _, step := range []struct {
		name   string
		answer error
		want   string // part of the error of Ready; "" for nil
	}{
		{"the API server is away", errors.New("connection refused"), "connection refused"},
		{"the role allows less", errors.New(`configmaps is forbidden: User "a" cannot create`), "cannot create"},
		{"the request succeeds", nil, "do not confine this program"},
		{"a policy refuses it", refused, ""},
		{"the API server is away again", errors.New("connection refused"), ""},
		{"the policy was deleted", nil, "do not confine this program"},
	} {
		answer = step.answer
		got := c.check(t.Context())
		if (got == nil) != (step.want == "") || got != nil && !strings.Contains(got.Error(), step.want) {
			t.Errorf("%s: %v, want %q", step.name, got, step.want)
		}
		if ready := c.Ready(); (ready == nil) != (got == nil) {
			t.Errorf("%s: Ready returns %v, the check %v", step.name, ready, got)
		}
	}
}

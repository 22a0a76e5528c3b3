package node

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestRunning checks that Running lists only containers with exclusive CPUs, and that it lists
// their online CPUs.
func TestRunning(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	s.play("agent start", "pod x main:500m", "run x", "pod a policy=single main:4 side:500m", "run a")
	var got []string
	for _, c := range s.node.Running() {
		got = append(got, fmt.Sprint(c.String(), " ", c.CPUs))
	}
	if diff := cmp.Diff([]string{"ns/a/main 2-3,10-11"}, got); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
}

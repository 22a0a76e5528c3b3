package node

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestSavesWhatChanged checks how often each step writes the checkpoint file: once if the grants
// have changed or the agent has started, and otherwise not at all. It also checks that the last
// checkpoint has the CPUs that are assigned.
func TestSavesWhatChanged(t *testing.T) {
	s := newScript(t, &scenario.Answer{})
	steps := []struct {
		commands []string
		saves    int
	}{
		{[]string{"agent start"}, 1},
		{[]string{"pod x main:500m", "run x", "resynchronize"}, 0},
		{[]string{"pod a policy=single main:2 other:1", "sandbox a", "create a/main"}, 1},
		{[]string{"start a/main", "create a/other", "resynchronize", "resynchronize"}, 0},
		{[]string{"break disk", "phase a Succeeded", "stop a", "repair disk"}, 0}, // the release is not in the checkpoint, because the disk is broken
		{[]string{"resynchronize"}, 1},
		{[]string{"resynchronize"}, 0},
		{[]string{"agent kill", "agent start"}, 1},
	}
	for _, tc := range steps {
		before := s.saves
		s.play(tc.commands...)
		if got := s.saves - before; got != tc.saves {
			t.Errorf("%q: %d checkpoints, want %d", tc.commands, got, tc.saves)
		}
	}
	s.play("pod b policy=single main:2", "sandbox b", "create b/main")
	var saved Snapshot
	if err := json.Unmarshal(s.disk, &saved); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(s.node.mu.book.sorted()), fmt.Sprint(saved.Held)); diff != "" {
		t.Errorf("checkpoint (-want +got):\n%s", diff)
	}
}

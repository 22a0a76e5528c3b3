package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConflicts(t *testing.T) {
	for name, tc := range map[string]struct {
		config, state string
		want          []string
		says          string
	}{
		"no settings":         {},
		"the defaults":        {config: "{cpuManagerPolicy: none, memoryManagerPolicy: None, topologyManagerPolicy: none}"},
		"CPU manager":         {config: "{cpuManagerPolicy: static}", want: []string{CPUManagerStatic}, says: "set cpuManagerPolicy: none"},
		"CPU manager by flag": {state: `{"policyName":"static"}`, want: []string{CPUManagerStatic}, says: "set cpuManagerPolicy: none"},
		"memory manager":      {config: "{memoryManagerPolicy: Static}", want: []string{MemoryManagerStatic}, says: "set memoryManagerPolicy: None"},
		"topology manager":    {config: "{topologyManagerPolicy: single-numa-node}", want: []string{TopologyManager}, says: "is single-numa-node"},
		"best effort, too":    {config: "{topologyManagerPolicy: best-effort}", want: []string{TopologyManager}, says: "set topologyManagerPolicy: none"},
		"all": {
			config: "{cpuManagerPolicy: static, memoryManagerPolicy: Static, topologyManagerPolicy: restricted}",
			want:   []string{CPUManagerStatic, MemoryManagerStatic, TopologyManager},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeConfig(t, dir, tc.config, nil)
			if tc.state != "" {
				if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(tc.state), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := ReadConfig(filepath.Join(dir, "config.yaml"), "")
			if err != nil {
				t.Fatal(err)
			}
			conflicts, err := Conflicts(c, dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, conflict := range conflicts {
				got = append(got, conflict.Reason)
				if !strings.Contains(conflict.Message, tc.says) {
					t.Errorf("message %q lacks %q", conflict.Message, tc.says)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConflictsOfAnUnreadableState checks that Conflicts returns an error, and not a
// Conflict, if the cpu_manager_state file cannot be parsed. A Conflict names a setting
// that an administrator can change, but here no setting is known to be wrong.
func TestConflictsOfAnUnreadableState(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := Conflicts(Config{}, dir); err == nil || len(all) > 0 {
		t.Errorf("Conflicts = %v, %v; want an error", all, err)
	}
}

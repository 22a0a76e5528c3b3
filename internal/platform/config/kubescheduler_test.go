package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubeSchedulerConfiguration checks that the file of --config may have a
// KubeSchedulerConfiguration, alone or beside the settings, and that programs other than the
// controller skip it.
func TestKubeSchedulerConfiguration(t *testing.T) {
	const document = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	for name, tc := range map[string]struct {
		file, want, err string
		candidates      int
	}{
		"alone":    {document, document, "", 4},
		"second":   {"candidates: 7\n---\n" + document, document, "", 7},
		"first":    {document + "---\ncandidates: 7\n", document, "", 7},
		"none":     {"candidates: 7\n", "", "", 7},
		"empty":    {"---\n---\n", "", "", 4},
		"two":      {document + "---\n" + document, "", "one KubeSchedulerConfiguration at most", 0},
		"no key":   {"candidate: 7\n---\n" + document, "", "unknown key", 0},
		"repeated": {"candidates: 7\n---\ncandidates: 8\n", "", "one document with settings", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := LoadController(input(t, nil, nil, tc.file))
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(strings.TrimSpace(tc.want), strings.TrimSpace(string(c.Kubescheduler))); diff != "" || c.Candidates != tc.candidates {
				t.Errorf("candidates %d, want %d; document (-want +got):\n%s", c.Candidates, tc.candidates, diff)
			}
			if _, err := LoadAgent(input(t, nil, map[string]string{"NODE_NAME": "n"}, tc.file)); err != nil {
				t.Errorf("the agent cannot read it: %v", err)
			}
		})
	}
}

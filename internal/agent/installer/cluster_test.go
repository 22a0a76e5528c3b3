package installer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestShortened checks that a long message is cut between two characters, and not inside one.
func TestShortened(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"short":                {"containerd requires the agent", "containerd requires the agent"},
		"as long as it may be": {strings.Repeat("a", maxMessage), strings.Repeat("a", maxMessage)},
		"too long":             {strings.Repeat("a", maxMessage+1), strings.Repeat("a", maxMessage)},
		"ends inside ü":        {strings.Repeat("a", maxMessage-1) + "ü", strings.Repeat("a", maxMessage-1)},
		"ends after ü":         {strings.Repeat("a", maxMessage-2) + "ü!", strings.Repeat("a", maxMessage-2) + "ü"},
	} {
		t.Run(name, func(t *testing.T) {
			got := shortened(c.message)
			if diff := cmp.Diff(c.want, got); diff != "" || !utf8.ValidString(got) {
				t.Errorf("valid UTF-8: %v (-want +got):\n%s", utf8.ValidString(got), diff)
			}
		})
	}
}

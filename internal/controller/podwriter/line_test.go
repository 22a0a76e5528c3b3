package podwriter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLine checks which pods a line (a queue) returns, and in which order, after pods were added
// ("+") and removed ("-").
func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []string
		want    []string
	}{
		"empty":                     {},
		"in order":                  {[]string{"+a", "+b", "+c"}, []string{"a", "b", "c"}},
		"added twice":               {[]string{"+a", "+b", "+a"}, []string{"a", "b"}},
		"removed":                   {[]string{"+a", "+b", "-a"}, []string{"b"}},
		"removed twice":             {[]string{"+a", "-a", "-a", "-b"}, nil},
		"removed, then added again": {[]string{"+a", "+b", "-a", "+a"}, []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine()
			for _, change := range tc.changes {
				if name := change[1:]; change[0] == '+' {
					l.add(failure{pod: pod(name)})
				} else {
					l.remove(pod(name).UID)
				}
			}
			var got []string
			for f, ok := l.pop(); ok; f, ok = l.pop() {
				got = append(got, f.pod.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

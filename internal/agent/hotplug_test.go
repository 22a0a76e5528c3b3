package agent

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// TestOnline: a list that is missing or means nothing is not taken for no CPU.
func TestOnline(t *testing.T) {
	for text, want := range map[string]bool{"0-3\n": true, "\n": false, "all\n": false} {
		if got, ok := online(fstest.MapFS{onlineFile: {Data: []byte(text)}}); ok != want || ok && got.Len() != 4 {
			t.Errorf("online of %q = %v, %v", text, got, ok)
		}
	}
	if _, ok := online(fstest.MapFS{}); ok {
		t.Error("read a file that is not there")
	}
}

// TestOtherCPUsOnline: the agent ends once the CPUs that are online differ from
// those that it knows, and have settled.
func TestOtherCPUsOnline(t *testing.T) {
	for name, tc := range map[string]struct {
		online []string // at each tick; "" cannot be read
		ends   bool
	}{
		"as ever":             {[]string{"0-3", "0-3", "0-3"}, false},
		"one is gone":         {[]string{"0-3", "0-2", "0-2"}, true},
		"one came":            {[]string{"0-4", "0-4"}, true},
		"away for a moment":   {[]string{"0-2", "0-3", "0-2", "0-3"}, false},
		"one after the other": {[]string{"0-2", "0-1", "0", "0"}, true},
		"unreadable":          {[]string{"", "", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tick, left := make(chan time.Time), tc.online
			read := func() (cpuset.Set, bool) {
				list := left[0]
				left = left[1:]
				return cpuset.MustParse(list), list != ""
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- untilOthersOnline(ctx, cpuset.MustParse("0-3"), tick, read) }()
			for range tc.online {
				tick <- time.Time{}
			}
			if !tc.ends {
				cancel()
			}
			if err := <-ended; (err != nil) != tc.ends {
				t.Errorf("ended with %v, want an error: %v", err, tc.ends)
			}
		})
	}
}

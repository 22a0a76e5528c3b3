package telemetry

import (
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	for name, tc := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"nothing known": {debug.BuildInfo{GoVersion: "go1.26"}, "(devel) go1.26"},
		"a commit, dirty": {debug.BuildInfo{
			GoVersion: "go1.26",
			Main:      debug.Module{Version: "v0.1.0"},
			Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123456789abcdef"},
				{Key: "vcs.modified", Value: "true"},
			},
		}, "v0.1.0 commit 0123456789ab, modified go1.26"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe(&tc.info); got != tc.want {
				t.Errorf("describe = %q, want %q", got, tc.want)
			}
		})
	}
}

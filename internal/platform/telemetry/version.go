package telemetry

import (
	"fmt"
	"runtime/debug"
)

// release is the version of a release. The linker sets it.
var release string

// Version returns the version of the release, or else what the Go tool recorded about this build: the module's
// version, the commit and whether its tree was dirty.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
	version, commit, dirty := info.Main.Version, "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", modified"
		}
	}
	if version == "" {
		version = "(devel)"
	}
	if commit == "" {
		return fmt.Sprintf("%s %s", version, info.GoVersion)
	}
	return fmt.Sprintf("%s commit %.12s%s %s", version, commit, dirty, info.GoVersion)
}

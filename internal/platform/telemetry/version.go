package telemetry

import (
	"fmt"
	"runtime/debug"
)

// release is the version if the program is built as part of a release, or else "". The linker sets
// it (go build -ldflags=-X).
var release string

// Version returns the version of the release. For other builds, it returns what the Go tool
// recorded: the module's version, the commit, and whether files were changed since that commit.
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
